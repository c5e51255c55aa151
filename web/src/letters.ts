/** The letters of keys with Alt. They have no signal, so that the worker can read the settings without the page. */

/** The actions whose letter users can change, by their usual letter. */
export const ACTIONS = {
  j: "Next change",
  k: "Previous change",
  y: "Accept",
  n: "Reject",
  u: "Undo the last decision",
  c: "Add the selected lines to the message",
  r: "Switch between review and editor",
};

export type Action = keyof typeof ACTIONS;

/** The letter of each action. */
export type Letters = Readonly<Record<Action, string>>;

export const USUAL_LETTERS: Letters = { j: "j", k: "k", y: "y", n: "n", u: "u", c: "c", r: "r" };
