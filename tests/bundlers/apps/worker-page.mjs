// A page that runs the task in a module worker and then itself.

import { Agent } from "emend";
import { renameColour } from "./task.mjs";

globalThis.start = async () => {
  const worker = new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
  const inWorker = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  return { ...inWorker, same: JSON.stringify(inWorker) === JSON.stringify(await renameColour(Agent)) };
};
