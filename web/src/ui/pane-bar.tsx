/** On a phone, one pane is shown at a time. This bar at the bottom chooses it. */
import { asksUser, type Pane, pane, totals, view } from "../store.js";
import { Icon, type IconName } from "./icons.js";

const PANES: readonly (readonly [Pane, string, IconName])[] = [
  ["files", "Files", "files"],
  ["text", "Text", "file"],
  ["review", "Review", "accept"],
  ["chat", "Chat", "sparkle"],
];

export function PaneBar() {
  const { changes } = totals.value;
  return (
    <nav class="pane-bar" aria-label="Panes">
      {PANES.map(([name, label, icon]) => (
        <button
          key={name}
          type="button"
          aria-current={shownPane() === name ? "page" : undefined}
          onClick={() => showPane(name)}
        >
          <Icon name={icon} />
          <span>
            {label}
            {name === "review" && changes > 0 && <span class="count"> {changes.toLocaleString("en")}</span>}
            {name === "chat" && asksUser.value !== null && (
              <span class="count">
                {" "}
                1<span class="visually-hidden"> request waits for you</span>
              </span>
            )}
          </span>
        </button>
      ))}
    </nav>
  );
}

function showPane(name: Pane): void {
  pane.value = name;
  if (name === "text") view.value = "editor";
  if (name === "review") view.value = "review";
}

/** Returns the shown pane. The text and the review share one, and other parts of the page switch between them. */
export function shownPane(): Pane {
  if (pane.value === "text" || pane.value === "review") return view.value === "review" ? "review" : "text";
  return pane.value;
}
