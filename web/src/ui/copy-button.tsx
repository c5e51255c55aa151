/** A button that copies a text. It says so for a moment. */
import { useSignal } from "@preact/signals";
import { showError, spoken } from "../store.js";
import { Icon } from "./icons.js";

const SAID_MS = 1_500;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      copied.value = true;
      spoken.value = "Copied.";
      setTimeout(() => {
        copied.value = false;
      }, SAID_MS);
    } catch (error) {
      showError(error);
    }
  };
  return (
    <button class="tool copy" type="button" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={copied.value ? "accept" : "copy"} size={14} />
    </button>
  );
}
