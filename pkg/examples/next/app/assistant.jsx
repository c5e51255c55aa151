"use client";

// An agent in the browser: a button that runs a task, and the proposed changes with a button each.

import { Agent } from "emend";
import { useAgent, useReview, useRun } from "emend/react";

const FILES = { "notes.md": "The colour of the sky.\n" };

export function Assistant() {
  const { agent, error } = useAgent(() => Agent.create({ files: FILES }));
  const { start, isRunning, text } = useRun(agent);
  const { files } = useReview(agent);
  return (
    <section>
      <button
        type="button"
        disabled={agent === undefined || isRunning}
        onClick={() => start("rename colour to color in notes.md")}
      >
        Run
      </button>
      <p role="status">{error === undefined ? text : String(error)}</p>
      <ul>
        {files.flatMap(({ path, hunks }) =>
          hunks.map((hunk) => (
            <li key={hunk.id}>
              {path}, line {hunk.newStart}
              <button type="button" onClick={() => agent?.accept([hunk.id])}>
                Keep
              </button>
            </li>
          )),
        )}
      </ul>
    </section>
  );
}
