/** Wraps a component so that it renders again only when one of its properties changes. Long lists need it. */
import { Component, type ComponentChild, type FunctionComponent } from "preact";

export function memo<Props extends object>(draw: FunctionComponent<Props>) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const now: Readonly<Props> = this.props;
      return (Object.keys(next) as (keyof Props)[]).some((key) => next[key] !== now[key]);
    }

    override render(): ComponentChild {
      return draw(this.props as Parameters<typeof draw>[0]) as ComponentChild;
    }
  };
}
