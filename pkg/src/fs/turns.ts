/** Order and number of calls that run at the same time. */

/** Runs the work of one key one after another, and the work of different keys side by side. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work of `key`. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work);
    // The next one waits for the end, whatever it is.
    const end = mine.then(
      () => {},
      () => {},
    );
    this.#last.set(key, end);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === end) this.#last.delete(key);
    }
  }
}

/** Runs at most `max` calls at the same time. The others wait in the order in which they came. */
export class Limit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(max: number) {
    this.#free = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
