// The app: a task for the agent, the list of its proposed changes, and the text as it is saved.

import { Agent } from "emend";
import { useAgent, useReview, useRun } from "emend/react";
import { type FormEvent, useEffect, useState } from "react";
import { ReviewList } from "./review-list.js";

const PATH = "notes.md";
const TEXT = "The colour of the sky.\n\nMany lines lie between.\n\nThen the end:\n\nthe colour of the sea.\n";

export function App() {
  // With another `model`, the task can be anything.
  const { agent, error } = useAgent(() => Agent.create({ files: { [PATH]: TEXT } }));
  const run = useRun(agent);
  const review = useReview(agent);
  const [task, setTask] = useState(`rename colour to color in ${PATH}`);
  const saved = useSaved(agent, review.revision);

  function submit(event: FormEvent) {
    event.preventDefault();
    void run.start(task);
  }

  return (
    <main>
      <h1>Emend with Vite and React</h1>
      <form onSubmit={submit}>
        <label>
          Task <input value={task} size={40} onChange={(event) => setTask(event.target.value)} />
        </label>
        {run.isRunning ? (
          <button type="button" onClick={run.stop}>
            Stop
          </button>
        ) : (
          <button type="submit" disabled={agent === undefined}>
            Run
          </button>
        )}
      </form>
      <p role="status">{error === undefined ? run.text : String(error)}</p>
      {agent !== undefined && <ReviewList agent={agent} files={review.files} />}
      <h2>Saved text</h2>
      <pre>{saved}</pre>
    </main>
  );
}

/** Returns the text of the file without pending changes. */
function useSaved(agent: Agent | undefined, revision: number): string {
  const [text, setText] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: every decision has a new revision.
  useEffect(() => {
    let isCurrent = true;
    agent?.files.readDisk(PATH).then((read) => {
      if (isCurrent) setText(read ?? "");
    });
    return () => {
      isCurrent = false;
    };
  }, [agent, revision]);
  return text;
}
