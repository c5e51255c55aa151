// The proposed changes, each with two buttons.

import type { Agent, Hunk, Review } from "emend";

export function ReviewList({ agent, files }: { agent: Agent; files: Review["files"] }) {
  if (files.length === 0) return <p>No changes wait for you.</p>;
  return (
    <ul>
      {files.flatMap(({ path, hunks }) =>
        hunks.map((hunk) => (
          <li key={hunk.id}>
            <code>
              {path}:{hunk.newStart}
            </code>
            <Lines hunk={hunk} />
            <button type="button" onClick={() => agent.accept([hunk.id])}>
              Keep
            </button>
            <button type="button" onClick={() => agent.reject([hunk.id])}>
              Discard
            </button>
          </li>
        )),
      )}
    </ul>
  );
}

const SIGNS = { added: "+", removed: "-", context: " " };

function Lines({ hunk }: { hunk: Hunk }) {
  return <pre>{hunk.lines.map(({ kind, text }) => `${SIGNS[kind]}${text}`).join("")}</pre>;
}
