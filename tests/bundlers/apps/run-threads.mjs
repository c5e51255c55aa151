// A program in Node that runs the task in two worker threads at once: each has a core of its own.

import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { Agent } from "emend";
import { renameColour } from "./task.mjs";

if (isMainThread) {
  const outcomes = [1, 2].map(() => {
    const worker = new Worker(new URL(import.meta.url));
    return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  });
  console.log(JSON.stringify(await Promise.all(outcomes)));
} else {
  parentPort.postMessage(await renameColour(Agent));
}
