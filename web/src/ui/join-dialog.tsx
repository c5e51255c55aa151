/** Asks for the address and the token of a server. */
import { useSignal } from "@preact/signals";
import { joinServer } from "../actions/project.js";
import { serverAt } from "../own-server.js";
import { closeDialog, Modal } from "./modal.js";

/** The address of the page's own server, if the page may come from one: from this computer, or by HTTP. */
function usualAddress(): string {
  return location.protocol === "http:" || location.hostname === "localhost" ? location.origin : "http://127.0.0.1:4120";
}

const PROBLEM =
  "The address must start with https://, or with http:// for a server on this computer or that of this page.";

export function JoinDialog() {
  const address = useSignal(usualAddress());
  const token = useSignal("");
  const tried = useSignal(false);
  const server = serverAt(address.value);
  return (
    <Modal title="Join a server" onCancel={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (server === null) return;
          closeDialog();
          void joinServer(server.url, token.value || server.token);
        }}
      >
        <p class="field-note">
          <code>emend serve</code>, or <code>/serve</code> in a conversation on a terminal, prints an address with its
          token: give it whole. This page then shows the session that was used last; the terminal has the same one. For
          a page of another address, start the server with <code>--allow-origin {location.origin}</code>.
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
          {tried.value && server === null ? PROBLEM : ""}
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
