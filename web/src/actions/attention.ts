/** Tells the user outside of the page that a run has ended or waits, if the user asked for it and the page is hidden. */
import { options, project } from "../store.js";

/** Asks the browser for the permission. Call it from a click. Returns whether it is granted. */
export async function allowNotifications(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

/** Shows a notification, which leads back to the page. */
export function callUser(text: string): void {
  if (!options.value.notify || !document.hidden || !("Notification" in window)) return;
  if (Notification.permission !== "granted") return;
  try {
    const shown = new Notification(project.value.name || "Emend", { body: text, tag: "emend" });
    shown.onclick = () => {
      window.focus();
      shown.close();
    };
  } catch {
    // Browsers of phones have notifications of service workers only.
  }
}
