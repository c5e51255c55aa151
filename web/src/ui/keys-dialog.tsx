/** The keys of the page, and a choice of other letters for the actions of the review. */

import { useState } from "preact/hooks";
import { keyName, letters, rebound } from "../keys.js";
import { ACTIONS, type Action, type Letters, USUAL_LETTERS } from "../letters.js";
import { saveLetters } from "../settings.js";
import { closeDialog, Modal } from "./modal.js";

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "In the editor",
    [
      ["Alt+J, Alt+K", "Next, previous change; continues in the next file"],
      ["Alt+Y", "Accept the change at the cursor"],
      ["Alt+N", "Reject the change at the cursor"],
      ["Ctrl+Enter", "Accept all changes of the file"],
      ["Esc", "Take the file back from the assistant"],
      ["Ctrl+Z, Ctrl+Shift+Z", "Undo, redo your last step: typing or a decision"],
      ["Alt+C", "Add the selected lines to the message"],
      ["Ctrl+F", "Find and replace"],
      ["Tab", "Next button; Ctrl+] indents"],
    ],
  ],
  [
    "In the files",
    [
      ["F2", "Rename the file or folder"],
      ["Delete", "Delete the file or folder"],
    ],
  ],
  [
    "In the message box",
    [
      ["Enter", "Send; during a task, add to it"],
      ["Alt+Enter", "Queue for after the task"],
      ["@", "Complete the name of a file"],
      ["Ctrl+V", "Paste text, or add a picture"],
    ],
  ],
  [
    "In the review",
    [
      ["J, K", "Next, previous change"],
      ["Y, N", "Accept, reject"],
      ["S", "Split the change: ↑ ↓ choose the line, Enter splits"],
      ["U", "Undo the last decision"],
      ["Enter", "Open the change in the editor"],
    ],
  ],
  [
    "Anywhere",
    [
      ["Ctrl+S", "Save all accepted text"],
      ["Ctrl+P", "Open a file by a part of its name"],
      ["Ctrl+Shift+F", "Find a text in all files"],
      ["Ctrl+Shift+O", "Go to a symbol of the open file"],
      ["F6, Shift+F6", "Next, previous part of the page"],
      ["Alt+R", "Switch between review and editor"],
    ],
  ],
];

export function KeysDialog() {
  return (
    <Modal title="Keyboard shortcuts" onCancel={closeDialog}>
      <div class="keys">
        {KEYS.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([keys, meaning]) => (
                <div key={keys}>
                  <dt>
                    <kbd>{keyName(keys)}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <OwnLetters />
      </div>
      <div class="modal-foot">
        <button class="button" type="button" data-focus onClick={closeDialog}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** A button for each action: the next letter that is pressed on it is its letter. */
function OwnLetters() {
  const [waiting, setWaiting] = useState<Action | null>(null);
  const change = (all: Letters) => {
    letters.value = all;
    saveLetters(all);
    setWaiting(null);
  };
  const onKey = (event: KeyboardEvent, action: Action) => {
    if (waiting !== action || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") setWaiting(null);
    else if (/^[a-z]$/i.test(event.key)) change(rebound(letters.value, action, event.key.toLowerCase()));
    else return;
    event.preventDefault();
  };
  return (
    <section>
      <h3>Your letters</h3>
      <p>Press a button here, then its new letter.</p>
      <dl>
        {Object.entries(ACTIONS).map(([name, meaning]) => {
          const action = name as Action;
          return (
            <div key={name}>
              <dt>
                <button
                  class="button"
                  type="button"
                  aria-label={`Letter of: ${meaning}`}
                  onClick={() => setWaiting(action)}
                  onBlur={() => setWaiting(null)}
                  onKeyDown={(event) => onKey(event, action)}
                >
                  {waiting === action ? "Press a letter" : letters.value[action].toUpperCase()}
                </button>
              </dt>
              <dd>{meaning}</dd>
            </div>
          );
        })}
      </dl>
      <button class="link" type="button" onClick={() => change(USUAL_LETTERS)}>
        Use the usual letters
      </button>
    </section>
  );
}
