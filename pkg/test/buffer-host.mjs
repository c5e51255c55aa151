// A text buffer as a host has one: it tells of changes, and counts what it is asked to do.

export class BufferHost {
  /** The transactions that it was given. */
  transactions = [];
  /** The errors with which bindings of it ended. */
  ends = [];
  listeners = 0;
  #report = () => {};
  /** The texts before the transactions. */
  #before = new Map();

  /** With `echoes` it reports the transactions of the binding, too, as editors do that cannot tell them apart. */
  constructor(text = "", echoes = false) {
    this.text = text;
    this.echoes = echoes;
  }

  /** The buffer with options of the binding. */
  with(options) {
    return {
      read: () => this.text,
      apply: (transaction) => this.apply(transaction),
      onChange: (report) => {
        this.#report = report;
        this.listeners += 1;
        return () => {
          this.listeners -= 1;
        };
      },
      onSync: () => {},
      onEnd: (error) => this.ends.push(error),
      ...options,
    };
  }

  apply(transaction) {
    this.transactions.push(transaction);
    this.#before.set(transaction, this.text);
    this.text = changed(this.text, transaction.changes);
    if (this.text !== transaction.text) throw new Error("the changes do not lead to the text");
    if (this.echoes) this.#report(transaction.changes);
  }

  /** Reports a change as the user's. */
  report(changes, options) {
    this.#report(changes, options);
  }

  /** The user types. */
  type(at, text) {
    const changes = [{ from: at, to: at, insert: text }];
    this.text = changed(this.text, changes);
    this.report(changes);
  }

  /** The user takes a transaction back with the undo of the host, or repeats it with its redo. */
  takeBack(transaction) {
    this.#replay(transaction, "reverts", this.#before.get(transaction));
  }

  repeat(transaction) {
    this.#replay(transaction, "repeats", transaction.text);
  }

  #replay(transaction, how, text) {
    const changes = this.text === text ? [] : [{ from: 0, to: this.text.length, insert: text }];
    this.text = text;
    this.report(changes, { [how]: transaction });
  }
}

function changed(text, changes) {
  let result = text;
  for (const { from, to, insert } of changes.toReversed()) result = result.slice(0, from) + insert + result.slice(to);
  return result;
}
