/** Starts the page: renders it, then opens the project of the tab before a reload, or the sample project. */
import { render } from "preact";
import { start } from "./actions/project.js";
import "./actions/connect-editor.js";
import { loadTheme } from "./settings.js";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/editor.css";
import "./styles/chat.css";
import "./styles/phone.css";
import { restrictStyles } from "./style-nonce.js";
import { App } from "./ui/app.js";
import { loadLater } from "./ui/later.js";
import { loadMarkdown } from "./ui/markdown.js";

restrictStyles();

// Before the first paint, so that a dark page does not flash white.
document.documentElement.dataset.theme = loadTheme();

const root = document.getElementById("app");
if (root) render(<App />, root);
void start();
void loadMarkdown();
loadLater();
