// A page without a bundler or a framework: a text field, a task, and the review of the agent's changes.

import { Agent } from "emend";
import { bindBuffer } from "emend/bind";
import { defineReview } from "emend/elements";

const [area, form, status, review] = ["textarea", "form", "[role=status]", "emend-review"].map((selector) =>
  document.querySelector(selector),
);
const agent = await Agent.create({ files: { "notes.md": "The colour of the sky.\nThe colour of the sea.\n" } });

defineReview();
review.agent = agent;

bindBuffer(agent, "notes.md", {
  read: () => area.value,
  apply({ changes }) {
    for (const { from, to, insert } of [...changes].reverse()) area.setRangeText(insert, from, to);
  },
  onChange(report) {
    const listener = () => report();
    area.addEventListener("input", listener);
    return () => area.removeEventListener("input", listener);
  },
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  const { text, error } = await agent.run(form.querySelector("input").value).result;
  status.textContent = error?.message ?? text;
  button.disabled = false;
});
