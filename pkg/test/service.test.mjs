// `emend/service`: the whole story over `fetch`, events that nobody misses, several services, hostile hosts, and panics.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { Agent, memoryStore } from "emend";
import {
  BusyError,
  ClosedError,
  ConfigError,
  createService,
  EmendError,
  isEmendError,
  PanicError,
} from "emend/service";
import { scripted } from "./support.mjs";

const FILES = { "notes.md": "The colour of the sky.\nSecond line.\n" };
const RENAME = "rename colour to color in notes.md";

/** Opens a service that is closed when the test ends. */
async function open(t, options = {}) {
  const service = await createService({ files: FILES, ...options });
  t.after(() => service.close());
  return service;
}

const newSession = async (service, body = {}) =>
  (await service.request("POST", "/api/agent/sessions", body)).session_id;
const run = async (service, session_id, instruction = RENAME) =>
  (await service.request("POST", "/api/agent/run", { session_id, instruction })).job_id;
const getJob = (service, job) => service.request("GET", `/api/agent/jobs/${job}`);

/** Waits until a job has one of some statuses, and returns it. */
async function until(service, job, ...statuses) {
  for (;;) {
    const found = await getJob(service, job);
    if (statuses.includes(found.status)) return found;
    assert.ok(!["completed", "failed", "cancelled"].includes(found.status), JSON.stringify(found));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const json = (body) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

test("importing loads nothing", async () => {
  const program = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    let n = 0;
    const [read, compile] = [fs.readFile, WebAssembly.compile];
    fs.readFile = (path, ...rest) => { n += String(path).endsWith(".wasm") ? 1 : 0; return read(path, ...rest); };
    syncBuiltinESMExports();
    globalThis.fetch = () => { n += 1; };
    WebAssembly.compile = (...all) => { n += new Error().stack.includes("/dist/wasm/") ? 1 : 0; return compile(...all); };
    await import(${JSON.stringify(import.meta.resolve("emend/service"))});
    await import(${JSON.stringify(import.meta.resolve("emend/service-client"))});
    const before = n;
    const { createService } = await import(${JSON.stringify(import.meta.resolve("emend/service"))});
    await (await createService()).close();
    console.log(before, n > 0);
  `;
  const output = await new Promise((resolve, reject) =>
    execFile(process.execPath, ["--input-type=module", "-e", program], (error, stdout) =>
      error ? reject(error) : resolve(stdout.trim()),
    ),
  );
  assert.equal(output, "0 true");
});

test("a session, a job, its events, its review, and the file", async (t) => {
  const service = await open(t);
  const created = await service.fetch("/api/agent/sessions", json({ title: "Colours" }));
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("content-type"), "application/json");
  const { session_id: session, model } = await created.json();
  assert.equal(model, "offline");
  const job = await run(service, session);
  const kinds = [];
  for await (const { type, cursor } of service.events({ session })) {
    kinds.push(type);
    assert.equal(cursor, kinds.length);
    if (type === "diff.generated") break;
  }
  for (const kind of ["session.created", "job.queued", "job.started", "tool.call.completed", "edits.proposed"]) {
    assert.ok(kinds.includes(kind), `${kind} in ${kinds}`);
  }
  await until(service, job, "awaiting_review");
  assert.equal(await service.files.readDisk("notes.md"), FILES["notes.md"]);
  assert.match((await service.files.read("notes.md")).text, /color/);
  const review = await service.request("GET", `/api/agent/review?job_id=${job}`);
  const hunks = review.files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
  const request = { session_id: session, job_id: job, accepted_hunk_ids: hunks };
  const applied = await service.request("POST", "/api/agent/apply", request);
  assert.deepEqual(applied, {
    status: "completed",
    applied_files: [{ file_path: "notes.md", applied_hunks: 1, rejected_hunks: 0 }],
  });
  assert.equal(await service.files.readDisk("notes.md"), "The color of the sky.\nSecond line.\n");
});

test("follow-ups run one after the other", async (t) => {
  const service = await open(t);
  const session = await newSession(service, { mode: "direct" });
  await run(service, session);
  const path = `/api/agent/sessions/${session}/follow_ups`;
  for (const text of ["rename sky to sea in notes.md", "rename Second to Third in notes.md"]) {
    await service.request("POST", path, { text });
  }
  let ended = 0;
  for await (const { type } of service.events({ session })) if (type === "job.completed" && ++ended === 3) break;
  assert.equal(await service.files.readDisk("notes.md"), "The color of the sea.\nThird line.\n");
});

test("a question waits for its answer, and a waiting job can be cancelled", async (t) => {
  const ask = [["clarify_user", { question: "Which word?" }]];
  const { model, requests } = scripted([ask, "Done.", ask]);
  const service = await open(t, { model });
  const session = await newSession(service);
  const job = await run(service, session, "translate");
  const { question } = await until(service, job, "waiting_for_user");
  assert.equal(question.question, "Which word?");
  assert.equal((await service.attached()).jobs[0].question.question_id, question.question_id);
  await assert.rejects(run(service, session, "more"), (error) => error instanceof BusyError && error.code === "busy");
  await service.request("POST", `/api/agent/jobs/${job}/clarify`, { question_id: question.question_id, answer: "uno" });
  assert.equal((await until(service, job, "completed")).answer, "Done.");
  assert.match(JSON.stringify(requests.at(-1).messages), /uno/);
  const other = await run(service, session, "again");
  await until(service, other, "waiting_for_user");
  assert.equal((await service.request("POST", `/api/agent/jobs/${other}/cancel`)).status, "cancelled");
});

test("an edit in the mode `ask` waits for approval", async (t) => {
  const edit = [["edit_file", { file_path: "notes.md", old_string: "colour", new_string: "color" }]];
  const service = await open(t, { model: scripted([edit, "Done."]).model });
  const session = await newSession(service, { mode: "ask" });
  const job = await run(service, session, "edit");
  const { approvals } = await until(service, job, "waiting_for_user");
  assert.match(await service.files.readDisk("notes.md"), /colour/);
  const body = { tool_call_id: approvals[0].tool_call_id, decision: "allow" };
  await service.request("POST", `/api/agent/jobs/${job}/approve`, body);
  await until(service, job, "completed");
  assert.match(await service.files.readDisk("notes.md"), /color/);
});

test("sessions choose a model by name", async (t) => {
  const { model } = scripted(["Fast."], "fast");
  const service = await open(t, { models: { quick: model } });
  const session = await newSession(service, { model: "quick" });
  assert.equal((await until(service, await run(service, session, "x"), "completed")).answer, "Fast.");
  await assert.rejects(newSession(service, { model: "slow" }), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /no model "slow"; the service has "offline", "quick"/);
    return true;
  });
});

test("a service goes on with the sessions, the review and the unsaved edits of its store", async (t) => {
  const store = memoryStore();
  const first = await createService({ files: FILES, store });
  const session = await newSession(first);
  const job = await run(first, session);
  await until(first, job, "awaiting_review");
  const content = "The color of the sky.\nSecond line.\nmine\n";
  const edit = { file_path: "notes.md", content, save: false };
  await first.request("POST", "/api/agent/user_edit", edit);
  // As after a reload of the page: the first service is not closed.
  const second = await open(t, { store });
  t.after(() => first.close());
  const [state, review] = [await getJob(second, job), await second.request("GET", "/api/agent/review")];
  assert.equal(state.status, "awaiting_review");
  assert.deepEqual(review.unsaved, ["notes.md"]);
  const hunks = review.files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
  assert.equal(hunks.length, 1);
  assert.equal(await second.files.readDisk("notes.md"), FILES["notes.md"]);
  const { chat } = await second.request("GET", `/api/agent/sessions/${session}`);
  assert.equal(chat[0].text, RENAME);
  const apply = { session_id: session, job_id: job, accepted_hunk_ids: hunks };
  assert.equal((await second.request("POST", "/api/agent/apply", apply)).status, "completed");
  await second.request("POST", "/api/agent/save", {});
  assert.equal(await second.files.readDisk("notes.md"), content);
});

test("two services in one process do not see each other", async (t) => {
  const [one, two] = [await open(t), await open(t)];
  const [first, second] = [await newSession(one), await newSession(two)];
  const jobs = await Promise.all([run(one, first), run(two, second, "rename sky to sea in notes.md")]);
  await until(one, jobs[0], "awaiting_review");
  await until(two, jobs[1], "awaiting_review");
  assert.match((await one.files.read("notes.md")).text, /color of the sky/);
  assert.match((await two.files.read("notes.md")).text, /colour of the sea/);
  await assert.rejects(getJob(two, jobs[0]), (error) => isEmendError(error, "not_found"));
});

test("the files of an agent are copied into a service", async (t) => {
  const agent = await Agent.create({ files: FILES });
  const service = await open(t, { files: agent.files });
  assert.equal(await service.files.readDisk("notes.md"), FILES["notes.md"]);
  agent.close();
});

test("custom tools, limits and an environment work as for an agent", async (t) => {
  const saved = new Map(Object.entries(FILES));
  const missing = () => Object.assign(new Error("missing"), { code: "ENOENT" });
  const environment = {
    stat: async (path) =>
      path === "" ? { kind: "directory" } : saved.has(path) ? { kind: "file", size: saved.get(path).length } : null,
    list: async () => [...saved].map(([name, text]) => ({ name, kind: "file", size: text.length })),
    read: async (path) => saved.get(path) ?? Promise.reject(missing()),
    write: async (path, bytes) => void saved.set(path, new TextDecoder().decode(bytes)),
    remove: async (path) => void saved.delete(path),
  };
  const lookUp = { name: "look_up", description: "Looks up.", parameters: { type: "object" }, effect: "reads" };
  const calls = [];
  const tools = [{ ...lookUp, execute: () => (calls.push(1), "found") }];
  const edit = [["edit_file", { file_path: "notes.md", old_string: "colour", new_string: "color" }]];
  const { model } = scripted([[["look_up", {}]], edit, "Done."]);
  const service = await open(t, { files: undefined, environment, tools, model, limits: { max_sessions: 1 } });
  const session = await newSession(service, { mode: "direct" });
  await until(service, await run(service, session, "x"), "completed");
  assert.deepEqual([calls.length, saved.get("notes.md")], [1, "The color of the sky.\nSecond line.\n"]);
  await assert.rejects(newSession(service), (error) => isEmendError(error, "limit_reached"));
  assert.equal((await service.request("GET", "/api/agent/settings")).max_sessions, 1);
});

test("a host that throws or never answers ends the job, and the service goes on", async (t) => {
  const failing = {
    name: "failing",
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    async *stream() {
      throw new Error("no power");
    },
  };
  const silent = {
    name: "silent",
    idleTimeoutMs: 50,
    async *stream() {
      await new Promise(() => {});
    },
  };
  const stuck = { name: "stuck", stream: silent.stream };
  const service = await open(t, {
    models: { failing: { provider: failing }, silent: { provider: silent }, stuck: { provider: stuck } },
  });
  for (const [model, pattern] of [
    ["failing", /no power/],
    ["silent", /silent/],
  ]) {
    const session = await newSession(service, { model });
    const { error } = await until(service, await run(service, session, "x"), "failed");
    assert.match(error.message, pattern);
  }
  const session = await newSession(service, { model: "stuck" });
  const job = await run(service, session, "x");
  await until(service, job, "running");
  await service.request("POST", `/api/agent/jobs/${job}/cancel`);
  await until(service, job, "cancelled");
  await until(service, await run(service, await newSession(service)), "awaiting_review");
});

test("a cancelled job ends although a write of the environment hangs, and other jobs go on writing", async (t) => {
  const saved = new Map(Object.entries({ ...FILES, "other.md": "The colour of the sea.\n" }));
  const hung = new Set(["notes.md"]);
  const environment = {
    stat: async (path) =>
      path === "" ? { kind: "directory" } : saved.has(path) ? { kind: "file", size: saved.get(path).length } : null,
    list: async () => [...saved].map(([name, text]) => ({ name, kind: "file", size: text.length })),
    read: async (path) => saved.get(path),
    write: (path, bytes) => {
      if (hung.has(path)) return new Promise(() => {});
      saved.set(path, new TextDecoder().decode(bytes));
    },
    remove: async (path) => void saved.delete(path),
  };
  const edit = (path) => [["edit_file", { file_path: path, old_string: "colour", new_string: "color" }]];
  const models = { one: scripted([edit("notes.md")]).model, two: scripted([edit("other.md"), "Done."]).model };
  const service = await open(t, { files: undefined, environment, models });
  const stuck = await run(service, await newSession(service, { mode: "direct", model: "one" }), "x");
  for await (const { type } of service.events({ job: stuck })) if (type === "tool.call.requested") break;
  await service.request("POST", `/api/agent/jobs/${stuck}/cancel`);
  await until(service, stuck, "cancelled");
  const job = await run(service, await newSession(service, { mode: "direct", model: "two" }), "x");
  await until(service, job, "completed");
  assert.equal(saved.get("other.md"), "The color of the sea.\n");
});

/** Reads a stream and returns the messages with a number until `isLast`, as `[id, data]`. */
async function readStream(response, isLast) {
  const found = [];
  let text = "";
  for await (const bytes of response.body) {
    text += new TextDecoder().decode(bytes);
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      if (id !== undefined) found.push([Number(id), /^data: (.*)$/m.exec(block)[1]]);
      if (id !== undefined && isLast(found.length)) return found;
    }
  }
  return found;
}

test("a hundred reconnects read every event once", async (t) => {
  const service = await open(t);
  const session = await newSession(service, { mode: "direct" });
  const job = await run(service, session);
  const [seen, path] = [[], `/api/agent/jobs/${job}/events/stream`];
  let n = 0;
  for (; n < 500; n++) {
    const headers = seen.length === 0 ? {} : { "last-event-id": String(seen.at(-1)[0]) };
    const response = await service.fetch(path, { headers });
    if (response.status === 204) break;
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    seen.push(...(await readStream(response, (count) => count === 1)));
  }
  const all = (await readStream(await service.fetch(path), () => false)).map(([id, data]) => [id, JSON.parse(data)]);
  assert.deepEqual(
    seen.map(([id, data]) => [id, JSON.parse(data)]),
    all,
  );
  assert.deepEqual(
    seen.map(([id]) => id),
    seen.map((_, index) => seen[0][0] + index),
  );
  assert.equal(all.at(-1)[1].type, "job.completed");
  const storm = await Promise.all(
    Array.from({ length: 100 }, () => service.fetch(path).then((r) => readStream(r, () => false))),
  );
  for (const events of storm) assert.deepEqual(events, storm[0]);
  assert.ok(n > 20, `${n} reconnects`);
});

test("a reader beyond the newest event is told to read the state again", async (t) => {
  const service = await open(t);
  await newSession(service);
  for await (const event of service.events({ after: 999 })) {
    assert.equal(event.type, "resync_required");
    assert.deepEqual([event.last, event.error.code], [1, "resync_required"]);
    break;
  }
  await assert.rejects(
    service.events({ job: "none" }).next(),
    (error) => error instanceof EmendError && error.code === "not_found",
  );
});

test("a stream ends with its signal, and a request is no longer awaited", async (t) => {
  const service = await open(t);
  const control = new AbortController();
  const response = await service.fetch("/api/agent/stream", { signal: control.signal });
  const reader = response.body.getReader();
  assert.match(new TextDecoder().decode((await reader.read()).value), /^retry: 1000\ndata: \{"type":"attached"/);
  const next = reader.read();
  control.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  await assert.rejects(service.fetch("/api/agent/sessions", { signal: control.signal }), /enough/);
  const request = service.request("GET", "/api/agent/sessions", undefined, { signal: control.signal });
  await assert.rejects(request, (error) => isEmendError(error, "aborted") && error.cause.message === "enough");
});

test("malformed requests get the replies of the HTTP server", async (t) => {
  const service = await open(t);
  const replies = [];
  for (const [path, init] of [
    ["/api/agent/none", {}],
    ["/api/agent/sessions", { method: "PUT" }],
    ["/api/agent/sessions?offset=1", {}],
    ["/api/agent/stream?cursor=1", {}],
    ["/api/agent/sessions/%ff", {}],
    ["/api/agent/sessions", { method: "POST", body: "{}" }],
    ["/api/agent/sessions", { ...json({}), body: "{" }],
    ["/api/agent/jobs/none/events/stream", {}],
  ]) {
    const response = await service.fetch(path, init);
    const { ok, error } = await response.json();
    replies.push([response.status, ok, error.code, response.headers.get("allow")]);
  }
  assert.deepEqual(replies, [
    [404, false, "not_found", null],
    [405, false, "method_not_allowed", "GET, POST"],
    [400, false, "invalid_argument", null],
    [400, false, "invalid_argument", null],
    [404, false, "not_found", null],
    [415, false, "invalid_argument", null],
    [400, false, "invalid_argument", null],
    [404, false, "not_found", null],
  ]);
});

test("half a character in a body is replaced, as the server does", async () => {
  const service = await createService();
  const reply = await service.fetch("/api/agent/sessions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"title": "\\ud800x \\ud83d\\ude00"}',
  });
  assert.equal((await reply.json()).title, "\ufffdx 😀");
  await service.close();
});

test("wrong options are refused before anything is loaded", async () => {
  for (const [options, pattern] of [
    [{ mode: "direct" }, /`mode` belongs to the sessions/],
    [{ approve: () => "allow" }, /`approve` belongs to the sessions/],
    [{ models: { offline: { provider: "offline" } } }, /which is the name of `model`/],
    [{ models: { x: { provider: "acme" } } }, /unknown variant `acme`/],
    [{ limits: { max_jobs: 1 } }, /unknown field `max_jobs`/],
    [{ limits: { max_sessions: -1 } }, /`max_sessions` is not a whole number/],
    [{ maxTruns: 1 }, /unknown field `maxTruns`, expected .*`files`.*`models`, `limits`, `routing`, `wasm`$/],
  ]) {
    await assert.rejects(
      createService(options),
      (error) => error instanceof ConfigError && pattern.test(error.message),
    );
  }
});

test("closing cancels the jobs and ends the readers", async () => {
  const stuck = {
    name: "stuck",
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
  };
  const service = await createService({ model: { provider: stuck } });
  const session = await newSession(service);
  const job = await run(service, session, "x");
  await until(service, job, "running");
  const kinds = [];
  const reading = (async () => {
    for await (const { type } of service.events({ session })) kinds.push(type);
  })();
  await service.close();
  await reading;
  assert.equal(kinds.at(-1), "job.cancelled");
  await assert.rejects(service.request("GET", "/api/agent/sessions"), ClosedError);
  await assert.rejects(service.fetch("/api/agent/sessions"), ClosedError);
  await service.close();
});

test("a panic ends everything that is pending, and a new service starts afresh", async () => {
  const glue = await import(new URL("service-core.js", import.meta.resolve("emend/service")));
  const service = await createService({ files: FILES });
  const session = await newSession(service);
  const reading = service.events({ session, after: 1 }).next();
  const stream = await service.fetch("/api/agent/stream");
  const original = glue.ServiceHandle.prototype.handle;
  glue.ServiceHandle.prototype.handle = () => {
    glue.ServiceHandle.prototype.handle = original;
    glue.panicNow("boom in handle");
  };
  const panicked = (error) => error instanceof PanicError && /boom in handle/.test(error.message);
  await assert.rejects(service.request("GET", "/api/agent/sessions"), panicked);
  await assert.rejects(reading, panicked);
  await assert.rejects(
    readStream(stream, () => false),
    panicked,
  );
  await assert.rejects(service.fetch("/api/agent/sessions"), panicked);
  await service.close();
  const fresh = await createService({ files: FILES });
  await until(fresh, await run(fresh, await newSession(fresh)), "awaiting_review");
  await fresh.close();
});

test("the classes of errors are those of the core", async () => {
  const { classOf } = await import(new URL("service/codes.js", import.meta.resolve("emend/service")));
  const glue = await import(new URL("service-core.js", import.meta.resolve("emend/service")));
  await (await createService()).close();
  const types = await readFile(new URL("errors.d.ts", import.meta.resolve("emend/service")), "utf8");
  const codes = [...types.matchAll(/"([A-Za-z_]+)"/g)].map(([, code]) => code);
  assert.ok(codes.length >= 29, codes.join());
  for (const code of codes) assert.equal(classOf(code), glue.errorClass(code), code);
});

test("a second model gets the requests that the first one cannot answer, and the trace says why", async (t) => {
  const wrong = [["edit_file", { file_path: "notes.md", old_string: "no such line\n", new_string: "x\n" }]];
  const { model } = scripted(Array(40).fill(wrong), "first");
  const service = await open(t, {
    model,
    models: { second: { provider: "offline" } },
    routing: { fallback: "second" },
  });
  const session = await newSession(service);
  const job = await run(service, session);
  await until(service, job, "awaiting_review");
  const { events } = await service.request("GET", `/api/agent/jobs/${job}/events`);
  const chosen = events.filter(({ type }) => type === "provider.selected").map(({ data }) => data);
  const [first, again, other] = chosen;
  assert.deepEqual([first.provider, first.reason, first.local], ["first", "local_first", true]);
  assert.deepEqual([again.reason, again.local], ["validation_fail", true]);
  assert.deepEqual([other.reason, other.local], ["validation_fail", false]);
  assert.match(other.detail, /edit_file would fail: notes.md/);
  const { content } = await service.request("GET", "/api/agent/buffer?file_path=notes.md");
  assert.equal(content, "The color of the sky.\nSecond line.\n");
});

test("a job whose tool calls are used up without an edit goes on with the second model", async (t) => {
  const { model } = scripted(Array(40).fill([["list_dir", { path: "." }]]), "first");
  const models = { second: { provider: "offline" } };
  const service = await open(t, { model, models, routing: { fallback: "second" } });
  const session = await newSession(service);
  const body = { session_id: session, instruction: RENAME, tool_config: { max_tool_calls: 6 } };
  const { job_id: job } = await service.request("POST", "/api/agent/run", body);
  const { runs } = await until(service, job, "awaiting_review");
  assert.equal(runs.length, 2);
  const { events } = await service.request("GET", `/api/agent/jobs/${job}/events`);
  const reasons = events.filter(({ type }) => type === "provider.selected").map(({ data }) => data.reason);
  assert.ok(reasons[0] === "local_first" && reasons.at(-1) === "escalated", reasons.join(" "));
});

test("routing modes fix the model, and a local one that is strict never asks the other", async (t) => {
  for (const [routing, expected] of [
    [{ agentMode: "remote" }, { reason: "mode", local: false }],
    [{ agentMode: "local" }, { reason: "mode", local: true }],
    [{ strictLocal: true }, { reason: "local_first", local: true }],
  ]) {
    const { model, requests } = scripted(["Hello."], "first");
    const { model: second, requests: others } = scripted(["Hello."], "second");
    const service = await open(t, { model, models: { second }, routing: { fallback: "second", ...routing } });
    const job = await run(service, await newSession(service), "hello");
    await until(service, job, "completed");
    const { events } = await service.request("GET", `/api/agent/jobs/${job}/events`);
    const { data } = events.find(({ type }) => type === "provider.selected");
    assert.deepEqual([data.reason, data.local], [expected.reason, expected.local]);
    assert.deepEqual([requests.length, others.length], expected.local ? [1, 0] : [0, 1]);
  }
  await assert.rejects(createService({ routing: { fallback: "none" } }), /names no model/);
});

test("readers learn of edits of the user and of deleted sessions, which have no event", async (t) => {
  const service = await open(t);
  const [kept, gone] = [await newSession(service), await newSession(service)];
  const { seq } = await service.request("GET", `/api/agent/sessions/${kept}`);
  const reader = service.events({ after: seq });
  const first = reader.next();
  await service.request("POST", "/api/agent/user_edit", { file_path: "notes.md", content: "mine\n" });
  const { value } = await first;
  assert.equal(value.type, "state.changed");
  assert.ok(value.state.revision > 0 && value.state.n_deleted_sessions === 0, JSON.stringify(value));
  const second = reader.next();
  await service.request("DELETE", `/api/agent/sessions/${gone}`);
  assert.equal((await second).value.state.n_deleted_sessions, 1);
  await reader.return();
});
