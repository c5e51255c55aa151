// The hooks, in React with a document.

import "./dom.mjs";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Agent, isEmendError } from "emend";
import { useAgent, useHunks, useReview, useRun } from "emend/react";
import { act, createElement as element, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { scripted } from "./support.mjs";

globalThis.IS_REACT_ACT_ENVIRONMENT = true;

const FILES = { "a.txt": "one\ntwo\n" };
const EDIT = [[["edit_file", { file_path: "a.txt", old_string: "two", new_string: "2" }]], "Shortened."];

/** Renders a component that shows what `use` returns, and keeps the last value. */
async function mount(t, use, { strict = false, props = {} } = {}) {
  const seen = { renders: 0, value: undefined };
  function Component(given) {
    seen.value = use(given);
    seen.renders += 1;
    return element("p", null, JSON.stringify(Object.keys(seen.value ?? {})));
  }
  const parent = document.createElement("div");
  const root = createRoot(parent);
  const wrap = (given) => (strict ? element(StrictMode, null, element(Component, given)) : element(Component, given));
  const render = (given) => act(async () => root.render(wrap(given)));
  await render(props);
  let mounted = true;
  const unmount = () => {
    mounted = false;
    return act(async () => root.unmount());
  };
  t.after(() => (mounted ? unmount() : undefined));
  return { seen, render, unmount };
}

/** Waits, inside of `act`, until something holds. */
async function until(holds) {
  for (let turn = 0; turn < 400; turn++) {
    if (await holds()) return;
    await act(() => new Promise((resolve) => setTimeout(resolve, 5)));
  }
  assert.fail("it never holds");
}

const isClosed = (agent) => {
  try {
    agent.review();
    return false;
  } catch (error) {
    return isEmendError(error, "closed");
  }
};

test("useAgent creates one agent, also in strict mode, and closes it at the end", async (t) => {
  const made = [];
  const create = async () => {
    const agent = await Agent.create({ files: FILES });
    made.push(agent);
    return agent;
  };
  const { seen, unmount } = await mount(t, () => useAgent(create), { strict: true });
  await until(() => seen.value.agent !== undefined && made.length === 2);
  await until(() => made.filter(isClosed).length === 1);
  assert.equal(isClosed(seen.value.agent), false);
  await unmount();
  assert.ok(made.every(isClosed));
});

test("useAgent gives the error, and another agent for other dependencies", async (t) => {
  const use = ({ text }) =>
    useAgent(() => Agent.create(text === undefined ? { files: null } : { files: { "a.txt": text } }), [text]);
  const { seen, render } = await mount(t, use);
  await until(() => seen.value.error !== undefined);
  assert.ok(isEmendError(seen.value.error, "configuration"));
  await render({ text: "first" });
  await until(() => seen.value.agent !== undefined);
  assert.equal(seen.value.error, undefined);
  const first = seen.value.agent;
  await render({ text: "second" });
  await until(() => seen.value.agent !== undefined && seen.value.agent !== first);
  assert.ok(isClosed(first));
  assert.equal((await seen.value.agent.files.read("a.txt")).text, "second");
});

test("useReview and useHunks follow edits and decisions, and render only for changes", async (t) => {
  const agent = await Agent.create({ files: FILES, model: scripted(EDIT).model });
  const use = () => ({ review: useReview(agent), hunks: useHunks(agent, "a.txt"), none: useHunks(agent, "b.txt") });
  const { seen } = await mount(t, use);
  assert.deepEqual([seen.value.review.files, seen.value.hunks], [[], []]);
  await act(() => agent.run("shorten").result);
  await until(() => seen.value.hunks.length === 1);
  const { hunks, review } = seen.value;
  assert.equal(review.files[0].path, "a.txt");
  const { renders } = seen;
  await act(() => new Promise((resolve) => setTimeout(resolve, 20)));
  assert.equal(seen.renders, renders);
  await act(() => agent.accept([hunks[0].id]));
  await until(() => seen.value.hunks.length === 0);
  await act(async () => agent.close());
  assert.deepEqual(seen.value.review.files, []);
});

test("useRun runs a task, shows its text and result, and can be stopped", async (t) => {
  const slow = async ({ signal }) => {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const agent = await Agent.create({ files: FILES, model: scripted([...EDIT, slow]).model });
  t.after(() => agent.close());
  const events = [];
  const { seen } = await mount(t, () => useRun(agent, ({ kind }) => void events.push(kind)));
  assert.equal(seen.value.isRunning, false);
  await act(() => seen.value.start("shorten"));
  const { isRunning, text, result, error } = seen.value;
  assert.deepEqual([isRunning, text, result.reason, error], [false, "Shortened.", "natural", undefined]);
  assert.ok(events.includes("TOOL_CALL_END"));

  let ended;
  await act(async () => {
    ended = seen.value.start("wait");
    await seen.value.start("a second one does nothing");
  });
  assert.equal(seen.value.isRunning, true);
  assert.equal(seen.value.result, undefined);
  await act(async () => seen.value.stop());
  await act(() => ended);
  assert.deepEqual([seen.value.isRunning, seen.value.result.reason], [false, "aborted"]);
  await act(() => seen.value.start(" "));
  assert.equal(seen.value.isRunning, false);
});

test("a run ends with its component, and the agent can go on", async (t) => {
  const slow = async ({ signal }) => {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const agent = await Agent.create({ files: FILES, model: scripted([slow, "Done."]).model });
  t.after(() => agent.close());
  const { seen, unmount } = await mount(t, () => useRun(agent));
  let ended;
  await act(async () => {
    ended = seen.value.start("wait");
  });
  await unmount();
  await ended;
  assert.equal((await agent.run("go on").result).text, "Done.");
});

test("the component of the README runs a task and keeps a hunk", async (t) => {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const folder = await mkdtemp(join(import.meta.dirname, "react-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "component.tsx"), /^```jsx\n(.*?)^```$/ms.exec(readme)[1]);
  const options = "--jsx react-jsx --module NodeNext --target ES2022 --strict --skipLibCheck --outDir".split(" ");
  const tsc = createRequire(import.meta.url)
    .resolve("typescript/package.json")
    .replace("package.json", "bin/tsc");
  await promisify(execFile)(process.execPath, [tsc, ...options, folder, join(folder, "component.tsx")]);
  const { Assistant } = await import(pathToFileURL(join(folder, "component.js")).href);

  const parent = document.createElement("div");
  const root = createRoot(parent);
  await act(async () => root.render(element(StrictMode, null, element(Assistant))));
  t.after(() => act(async () => root.unmount()));
  const buttons = () => [...parent.querySelectorAll("button")].map((button) => button.textContent);
  await until(async () => {
    await act(async () => parent.querySelector("button").click());
    return buttons()[0] === "Stop" || buttons().length > 1;
  });
  await until(() => buttons().join() === "Run,Keep lines 1 and following of shop.js");
  assert.match(parent.querySelector("p").textContent, /Renamed price to cost/);
  await act(async () => parent.querySelectorAll("button")[1].click());
  await until(() => buttons().join() === "Run");
});

test("the hooks render on a server, without an agent", () => {
  function Page() {
    const { agent } = useAgent(() => Agent.create());
    const review = useReview(agent);
    const { isRunning } = useRun(agent);
    return element("p", null, `${agent} ${review.files.length} ${isRunning}`);
  }
  assert.equal(renderToString(element(Page)), "<p>undefined 0 false</p>");
});
