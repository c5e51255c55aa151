/** Cards that wait for the user: questions about tool calls, and questions of the model. */

import type { ApprovalAnswer, ApprovalRequest } from "../host/types.js";
import { make, makeButton, revealed } from "./dom.js";
import type { Question } from "./transcript.js";

/** The parts of a tool's preview that say what the call would do. */
const TELLING = ["command", "fileDiff"];

/** Creates the card of a tool call that needs the user's decision. It shows all of the call. */
export function approvalCard(request: ApprovalRequest, answer: (answer: ApprovalAnswer) => void): HTMLElement {
  const detail = request.detail ?? {};
  const directory = detail["workingDir"];
  const place = typeof directory === "string" && directory !== "." ? ` in ${directory}` : "";
  const card = newCard(`The agent wants to call ${request.toolName}${place}.`);
  for (const name of TELLING) if (typeof detail[name] === "string") card.append(block(name, detail[name]));
  const rest = JSON.stringify(request.arguments, null, 2) ?? "";
  const all = make("details", "", make("summary", "", "All arguments"), block("All arguments", rest));
  // Without a preview the arguments are all that there is.
  all.open = card.querySelector("pre") === null;
  card.append(all);
  const button = (text: string, given: ApprovalAnswer): HTMLButtonElement =>
    makeButton("choice", text, `${text}: ${revealed(request.toolName)}`, () => answer(given));
  const scope = scopeOfAlways(detail);
  const buttons = [button("Allow", "allow"), button(`Always allow ${scope}`, "always"), button("Deny", "deny")];
  card.append(make("div", "choices", ...buttons));
  return card;
}

/** Returns the calls that "always" would allow for the rest of the session. */
function scopeOfAlways(detail: Readonly<Record<string, unknown>>): string {
  if (typeof detail["command"] === "string") return "this command here";
  return Array.isArray(detail["paths"]) ? "this file" : "this tool";
}

function block(name: string, text: string): HTMLElement {
  const content = make("pre", "", revealed(text));
  // A long text scrolls, also by keys.
  content.tabIndex = 0;
  content.setAttribute("role", "region");
  content.dir = "ltr";
  content.setAttribute("aria-label", name);
  return content;
}

/** Creates the card of a question of the model. Free text goes into the message box. */
export function questionCard({ text, options }: Question, answer: (option: string) => void): HTMLElement {
  const card = newCard(text);
  const buttons = options.map((option) =>
    makeButton("choice", revealed(option), revealed(option), () => answer(option)),
  );
  if (buttons.length > 0) card.append(make("div", "choices", ...buttons));
  return card;
}

function newCard(text: string): HTMLElement {
  const card = make("div", "card", make("p", "", revealed(text)));
  card.setAttribute("part", "card");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", revealed(text));
  return card;
}
