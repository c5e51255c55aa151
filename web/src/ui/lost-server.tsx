/** Says in the start view that the page's own server does not answer. */
import { joinAgain, leaveLost } from "../actions/project.js";
import { Icon } from "./icons.js";

/** Shown if the server that the page was joined to does not answer. */
export function LostServer() {
  return (
    <div class="notice error start-problem" role="alert">
      <p>
        <Icon name="warning" size={14} /> The server of this page cannot be reached. Check that <code>emend serve</code>{" "}
        runs.
      </p>
      <button class="button primary" type="button" onClick={() => void joinAgain()}>
        Try again
      </button>{" "}
      <button class="button" type="button" onClick={leaveLost}>
        Leave the server
      </button>
    </div>
  );
}
