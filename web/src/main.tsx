/** Starts the page: renders it, then opens the project that the tab had before a reload, or shows the start view. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { start } from "./actions/project.js";
import "./actions/connect-editor.js";
import { letters } from "./keys.js";
import { loadLetters, loadTheme } from "./settings.js";
import { hasProject } from "./store.js";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/editor.css";
import "./styles/chat.css";
import "./styles/start.css";
import "./styles/more.css";
import "./styles/phone.css";
import { App } from "./ui/app.js";
import { loadLater } from "./ui/later.js";
import { loadMarkdown } from "./ui/markdown.js";
import { keepUnsent } from "./unsent.js";

// Before the first paint, so that a dark page does not flash white.
document.documentElement.dataset.theme = loadTheme();
letters.value = loadLetters();

/** Time in milliseconds after the opening of a project in which the parts that it needs have the connection for themselves. */
const MARKDOWN_MS = 1_500;

const root = document.getElementById("app");
if (root) render(<App />, root);
void keepUnsent(start());
loadLater();
// The first text that needs the parser loads it, too.
const stopWaiting = effect(() => {
  if (!hasProject.value) return;
  setTimeout(() => void loadMarkdown(), MARKDOWN_MS);
  queueMicrotask(() => stopWaiting());
});

// Vite's development server has no built files to keep.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  window.addEventListener("load", () => void navigator.serviceWorker.register("./sw.js").catch(() => undefined));
}
