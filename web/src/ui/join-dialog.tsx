/** Asks for the address and the token of a server. */
import { useSignal } from "@preact/signals";
import { joinServer } from "../actions/project.js";
import { closeDialog, Modal } from "./modal.js";

/** The address of the page's own server, if the page comes from this computer. */
function usualAddress(): string {
  return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname) ? location.origin : "http://127.0.0.1:4120";
}

function problemOf(address: string): string | null {
  try {
    const { protocol, username, hostname } = new URL(address);
    const isLocal = hostname === "localhost" || hostname === "127.0.0.1";
    if (username === "" && (protocol === "https:" || (protocol === "http:" && isLocal))) return null;
  } catch {
    // Said below.
  }
  return "The address must start with https://, or with http:// for a server on this computer.";
}

export function JoinDialog() {
  const address = useSignal(usualAddress());
  const token = useSignal("");
  const tried = useSignal(false);
  const problem = problemOf(address.value);
  return (
    <Modal title="Join a server" onCancel={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (problem !== null) return;
          closeDialog();
          void joinServer(address.value.replace(/\/+$/, ""), token.value);
        }}
      >
        <p class="field-note">
          <code>emend serve</code>, or <code>/serve</code> in a conversation on a terminal, prints both. This page then
          shows the session that was used last; the terminal has the same one. For a page of another address, start the
          server with <code>--allow-origin {location.origin}</code>.
        </p>
        <div class="fields">
          <label class="field">
            <span>Address</span>
            <input
              type="url"
              data-focus
              spellcheck={false}
              value={address.value}
              onInput={(event) => {
                address.value = event.currentTarget.value.trim();
              }}
            />
          </label>
          <label class="field">
            <span>
              Token <span class="faint">(empty if this page comes from the server)</span>
            </span>
            <input
              type="password"
              autoComplete="off"
              value={token.value}
              onInput={(event) => {
                token.value = event.currentTarget.value.trim();
              }}
            />
          </label>
        </div>
        <p class="field-problem" role="alert">
          {tried.value ? problem : ""}
        </p>
        <div class="modal-foot">
          <button class="button" type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button class="button primary" type="submit">
            Join
          </button>
        </div>
      </form>
    </Modal>
  );
}
