/** Starts the page: renders it, then opens the project that the tab had before a reload, or shows the start view. */
import { render } from "preact";
import { start } from "./actions/project.js";
import "./actions/connect-editor.js";
import { letters } from "./keys.js";
import { loadLetters, loadTheme } from "./settings.js";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/editor.css";
import "./styles/diff.css";
import "./styles/chat.css";
import "./styles/start.css";
import "./styles/more.css";
import "./styles/phone.css";
import { App } from "./ui/app.js";
import { keepUnsent } from "./unsent.js";

// Before the first paint, so that a dark page does not flash white.
document.documentElement.dataset.theme = loadTheme();
letters.value = loadLetters();

const root = document.getElementById("app");
if (root) render(<App />, root);
void keepUnsent(start());

// Vite's development server has no built files to keep.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  window.addEventListener("load", () => void navigator.serviceWorker.register("./sw.js").catch(() => undefined));
}
