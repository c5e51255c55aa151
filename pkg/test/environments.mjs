// Environments for tests, and agents over them. A page loads this module, too, so it imports nothing of Node.

import { Agent } from "emend";

const textOf = (content) => (typeof content === "string" ? content : new TextDecoder().decode(content));
const sizeOf = (content) => (typeof content === "string" ? new TextEncoder().encode(content) : content).byteLength;

/** Returns an exception like those of Node. */
export const failure = (code, message = code) => Object.assign(new Error(message), { code });

/** A minimal environment: a map of contents by path. `overrides` replace methods. */
export function mapped(contents, overrides = {}) {
  const files = new Map(Object.entries(contents));
  const under = (path) => (path === "" ? "" : `${path}/`);
  const isDirectory = (path) => path === "" || [...files.keys()].some((file) => file.startsWith(under(path)));
  return {
    files,
    text: (path) => (files.has(path) ? textOf(files.get(path)) : undefined),
    read: (path) => files.get(path),
    write: (path, content) => void files.set(path, content),
    remove: (path) => void files.delete(path),
    stat(path) {
      if (files.has(path)) return { kind: "file", size: sizeOf(files.get(path)) };
      return isDirectory(path) ? { kind: "directory" } : null;
    },
    list(path) {
      const inside = [...files.keys()].filter((file) => file.startsWith(under(path)));
      return new Set(inside.map((file) => file.slice(under(path).length).split("/")[0]));
    },
    ...overrides,
  };
}

/** Creates an agent over an environment. It is closed when the test ends. */
export async function create(t, environment, options = {}) {
  const agent = await Agent.create({ environment, ...options });
  t.after(() => agent.close());
  return agent;
}

/** A promise that never settles. */
export const never = new Promise(() => {});

/** Waits until a condition holds, however busy the machine is. */
export async function until(holds) {
  const end = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() >= end) throw new Error("it did not come about within a minute");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
