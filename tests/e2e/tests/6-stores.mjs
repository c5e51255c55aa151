// Sessions in IndexedDB: they outlive the page, and other tabs share them.
import assert from "node:assert/strict";
import { servePackage } from "../browser.mjs";

/** Runs `work` with an empty page that can import the package. All pages of one `work` share an origin. */
async function withPages(page, work) {
  const served = await servePackage();
  try {
    const open = async (tab) => {
      await tab.goto(served.url);
      return tab;
    };
    await work(await open(page), open);
  } finally {
    await served.close();
  }
}

/** In a page: creates an agent, runs a task and returns the session. `how` is `create`, or `resume` or `fork` of `id`. */
async function run([how, id, task]) {
  const { Agent, indexedDbStore } = await import("emend");
  const options = { files: { "notes.md": "Price and Price.\n" }, store: indexedDbStore() };
  const agent = how === "create" ? await Agent.create(options) : await Agent[how](id, options);
  const before = agent.turns();
  await agent.run(task).result;
  const left = { id: agent.sessionId, before, turns: agent.turns() };
  agent.close();
  return left;
}

/** In a page: returns the saved sessions, most recently used first. */
async function sessions() {
  const { Agent, indexedDbStore } = await import("emend");
  return (await Agent.sessions(indexedDbStore())).map(({ id, title, nTurns, forkedFrom }) => ({
    id,
    title,
    nTurns,
    from: forkedFrom?.id ?? null,
  }));
}

/** In a page: files of the host that outlive the page. The store of a service does not contain them. */
function storedFiles() {
  const read = (path) => localStorage.getItem(`file ${path}`);
  return {
    stat: async (path) => {
      if (path === "") return { kind: "directory" };
      return read(path) === null ? null : { kind: "file", size: read(path).length };
    },
    list: async () =>
      Object.keys(localStorage)
        .filter((key) => key.startsWith("file "))
        .map((key) => ({ name: key.slice(5), kind: "file", size: localStorage[key].length })),
    read: async (path) => read(path) ?? Promise.reject(Object.assign(new Error("missing"), { code: "ENOENT" })),
    write: async (path, bytes) => localStorage.setItem(`file ${path}`, new TextDecoder().decode(bytes)),
    remove: async (path) => localStorage.removeItem(`file ${path}`),
  };
}

/** In a page: opens a service over IndexedDB, starts a job and decides on one of its hunks. Leaves the service open. */
async function reviewHalf() {
  const { createService } = await import("emend/service");
  const { indexedDbStore } = await import("emend");
  const lines = Array.from({ length: 40 }, (_, at) => (at % 20 === 5 ? "colour" : `line ${at}`));
  localStorage.setItem("file notes.md", `${lines.join("\n")}\n`);
  const service = await createService({ environment: storedFiles(), store: indexedDbStore() });
  const { session_id } = await service.request("POST", "/api/agent/sessions", { title: "Kept" });
  const instruction = "rename colour to color in notes.md";
  const { job_id } = await service.request("POST", "/api/agent/run", { session_id, instruction });
  for await (const { type } of service.events({ session: session_id })) if (type === "diff.generated") break;
  const review = await service.request("GET", "/api/agent/review");
  const ids = review.files[0].hunks.map((hunk) => hunk.hunk_id);
  await service.request("POST", "/api/agent/decisions", { decision: "accept", hunk_ids: [ids[0]] });
  // A second job is at work when the page goes away.
  const other = await service.request("POST", "/api/agent/sessions", {});
  await service.request("POST", "/api/agent/run", { session_id: other.session_id, instruction: "rename line to row" });
  return { session: session_id, job: job_id, ids };
}

/** In a page: opens the service again. Returns its review, the job, and the file on disk and after the last decision. */
async function reviewRest({ session, job, ids }) {
  const { createService } = await import("emend/service");
  const { indexedDbStore } = await import("emend");
  const service = await createService({ environment: storedFiles(), store: indexedDbStore() });
  const state = await service.request("GET", `/api/agent/jobs/${job}`);
  const review = await service.request("GET", `/api/agent/review?job_id=${job}`);
  const hunks = review.files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
  const { chat, title } = await service.request("GET", `/api/agent/sessions/${session}`);
  const before = localStorage["file notes.md"];
  const apply = { session_id: session, job_id: job, accepted_hunk_ids: [ids[1]] };
  const { status } = await service.request("POST", "/api/agent/apply", apply);
  const { sessions } = await service.request("GET", "/api/agent/sessions");
  const jobs = await Promise.all(
    sessions.map(async (one) => (await service.request("GET", `/api/agent/sessions/${one.session_id}/jobs`)).jobs),
  );
  const open = jobs.flat().filter((one) => one.status === "running" || one.status === "queued");
  const count = (text) => [text.match(/color/g)?.length ?? 0, text.match(/colour/g)?.length ?? 0];
  const after = localStorage["file notes.md"];
  await service.close();
  const texts = { before: count(before), after: count(after) };
  return { state: state.status, hunks, title, chat: chat[0].text, status, open: open.length, ...texts };
}

export const tests = {
  async "a service over IndexedDB goes on with its review after a reload in the middle"({ page }) {
    await withPages(page, async (page) => {
      await page.addInitScript(`globalThis.storedFiles = ${storedFiles}`);
      await page.reload();
      const left = await page.evaluate(reviewHalf);
      assert.equal(left.ids.length, 2);
      await page.reload();
      assert.deepEqual(await page.evaluate(reviewRest, left), {
        state: "awaiting_review",
        hunks: [left.ids[1]],
        title: "Kept",
        chat: "rename colour to color in notes.md",
        status: "completed",
        open: 0,
        before: [1, 1],
        after: [2, 0],
      });
    });
  },

  async "a session is saved, resumed after a reload, forked, listed and removed"({ page }) {
    await withPages(page, async (page, open) => {
      const first = await page.evaluate(run, ["create", null, "rename Price to Cost"]);
      assert.ok(first.turns.length > 2);
      await page.reload();
      const second = await page.evaluate(run, ["resume", first.id, "rename Cost to Fee"]);
      assert.deepEqual([second.id, second.before], [first.id, first.turns]);
      assert.ok(second.turns.length > first.turns.length);
      const fork = await page.evaluate(run, ["fork", first.id, "rename Price to Fee"]);
      assert.notEqual(fork.id, first.id);
      assert.deepEqual(fork.before, second.turns);

      await open(page);
      const saved = await page.evaluate(sessions);
      const shown = (one, from) => ({ id: one.id, title: "rename Price to Cost", nTurns: one.turns.length, from });
      const byId = (a, b) => (a.id < b.id ? -1 : 1);
      assert.deepEqual(saved.sort(byId), [shown(second, null), shown(fork, first.id)].sort(byId));

      const removed = await page.evaluate(async (id) => {
        const { Agent, indexedDbStore } = await import("emend");
        const store = indexedDbStore();
        const twice = [await Agent.removeSession(store, id), await Agent.removeSession(store, id)];
        const code = await Agent.resume(id, { store }).then(
          () => null,
          (error) => error.code,
        );
        return { twice, code, raw: await store.load(id) };
      }, first.id);
      assert.deepEqual(removed, { twice: [true, false], code: "not_found", raw: null });
      assert.deepEqual(
        (await page.evaluate(sessions)).map(({ id }) => id),
        [fork.id],
      );
    });
  },

  async "two tabs save their own sessions at the same time and see each other's"({ page }) {
    await withPages(page, async (page, open) => {
      const other = await open(await page.context().newPage());
      const [here, there] = await Promise.all(
        [page, other].map((tab) => tab.evaluate(run, ["create", null, "rename Price to Cost"])),
      );
      for (const tab of [page, other]) {
        const saved = await tab.evaluate(sessions);
        assert.deepEqual(
          saved.map(({ id, nTurns }) => [id, nTurns]).sort(),
          [here, there].map(({ id, turns }) => [id, turns.length]).sort(),
        );
      }
      // One tab continues the session of the other, which is still open.
      const again = await other.evaluate(run, ["resume", here.id, "rename Cost to Fee"]);
      assert.deepEqual(again.before, here.turns);
      assert.deepEqual((await page.evaluate(run, ["resume", here.id, "rename Fee to Cost"])).before, again.turns);
    });
  },

  async "of two tabs that continue one session, the second writer gets a conflict"({ page }) {
    await withPages(page, async (page, open) => {
      const other = await open(await page.context().newPage());
      // The agent of this tab stays open.
      const id = await page.evaluate(async () => {
        const { Agent, indexedDbStore } = await import("emend");
        const agent = await Agent.create({ files: { "notes.md": "Price and Price.\n" }, store: indexedDbStore() });
        await agent.run("rename Price to Cost").result;
        globalThis.agent = agent;
        return agent.sessionId;
      });
      const theirs = await other.evaluate(run, ["resume", id, "rename Cost to Fee"]);
      const refused = await page.evaluate(async () => {
        const { reason, error } = await globalThis.agent.run("rename Cost to Toll").result;
        return { reason, code: error?.code };
      });
      assert.deepEqual(refused, { reason: "error", code: "conflict" });
      const again = await page.evaluate(run, ["resume", id, "rename Fee to Cost"]);
      assert.deepEqual(again.before, theirs.turns);
    });
  },

  async "a session that an earlier version saved without lengths is continued"({ page }) {
    await withPages(page, async (page) => {
      const first = await page.evaluate(run, ["create", null, "rename Price to Cost"]);
      await page.evaluate(async () => {
        const database = await new Promise((done) => {
          const request = indexedDB.open("emend", 1);
          request.onsuccess = () => done(request.result);
        });
        const cursor = database.transaction("lines", "readwrite").objectStore("lines").openCursor();
        await new Promise((done) => {
          cursor.onsuccess = () => {
            if (cursor.result === null) return done();
            const { end: _, ...record } = cursor.result.value;
            cursor.result.update(record);
            cursor.result.continue();
          };
        });
        database.close();
      });
      const second = await page.evaluate(run, ["resume", first.id, "rename Cost to Fee"]);
      const third = await page.evaluate(run, ["resume", first.id, "rename Fee to Price"]);
      assert.deepEqual(third.before, second.turns);
      assert.ok(second.turns.length > first.turns.length);
    });
  },

  async "functions that never wait leave turns to the page"({ page }) {
    await withPages(page, async (page) => {
      const outcome = await page.evaluate(async () => {
        const { Agent } = await import("emend");
        const began = performance.now();
        const provider = {
          name: "eager",
          async *stream() {
            // Without the limit a failure of this test would freeze the page.
            if (performance.now() - began < 5_000) yield { type: "tool_call", name: "tick", arguments: {} };
            yield { type: "finish" };
          },
        };
        const tick = { name: "tick", description: "", parameters: { type: "object" }, execute: () => "" };
        const agent = await Agent.create({ model: { provider }, tools: [tick] });
        const abort = new AbortController();
        setTimeout(() => abort.abort(), 100);
        return (await agent.run("count", { signal: abort.signal }).result).reason;
      });
      assert.equal(outcome, "aborted");
    });
  },

  async "an unusable database is reported as such, and the run continues"({ page }) {
    await withPages(page, async (page) => {
      const found = await page.evaluate(async () => {
        const { Agent, indexedDbStore } = await import("emend");
        const told = (promise) =>
          promise.then(
            () => null,
            (error) => [error.code, error.message],
          );
        /** Runs a task with an unusable database. Returns the errors of reading and the warnings of the run. */
        const attempt = async (store) => {
          const agent = await Agent.create({ files: { "a.md": "Price\n" }, store });
          const events = [];
          for await (const event of agent.run("rename Price to Cost")) events.push(event);
          agent.close();
          const warnings = events.filter((event) => event.kind === "WARNING").map((event) => event.data.message);
          return { listed: await told(Agent.sessions(store)), warnings, ended: events.at(-1).data.reason };
        };
        // Created by a newer version of the page.
        const open = (name, version, upgrade) =>
          new Promise((done, failed) => {
            const request = indexedDB.open(name, version);
            request.onupgradeneeded = () => upgrade?.(request.result);
            request.onsuccess = () => done(request.result);
            request.onerror = () => failed(request.error);
          });
        const newer = await open("newer", 7);
        // A database with the same name but other content.
        const foreign = await open("foreign", 1, (database) => database.createObjectStore("something"));
        const result = {
          newer: await attempt(indexedDbStore("newer")),
          foreign: await attempt(indexedDbStore("foreign")),
        };
        newer.close();
        foreign.close();
        // As in a private window or a sandboxed frame.
        Object.defineProperty(globalThis, "indexedDB", {
          value: {
            open: () => {
              throw new DOMException("access is denied", "SecurityError");
            },
          },
        });
        return { ...result, denied: await attempt(indexedDbStore()) };
      });
      for (const [name, words] of [
        ["newer", /version/],
        ["foreign", /lines|object store/],
        ["denied", /access is denied/],
      ]) {
        const { listed, warnings, ended } = found[name];
        assert.equal(listed?.[0], "io_error", name);
        assert.match(listed[1], words, name);
        assert.ok(
          warnings.some((message) => words.test(message)),
          `${name}: ${warnings}`,
        );
        assert.equal(ended, "natural", name);
      }
    });
  },

  async "a tab with a newer version of the database is not blocked"({ page }) {
    await withPages(page, async (page, open) => {
      const first = await page.evaluate(run, ["create", null, "rename Price to Cost"]);
      const other = await open(await page.context().newPage());
      const upgraded = await other.evaluate(
        () =>
          new Promise((done, failed) => {
            const request = indexedDB.open("emend", 2);
            request.onsuccess = () => done(request.result.version);
            request.onerror = () => failed(request.error);
            request.onblocked = () => failed(new Error("the first tab holds on to the old version"));
          }),
      );
      assert.equal(upgraded, 2);
      const code = await page.evaluate(async (id) => {
        const { Agent, indexedDbStore } = await import("emend");
        return Agent.resume(id, { store: indexedDbStore() }).then(
          () => null,
          (error) => error.code,
        );
      }, first.id);
      assert.equal(code, "io_error");
    });
  },
};
