// `emend/edit`, `emend/llm` and `emend/service` in a page, loaded from the built package without a bundler.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { closed, listen, serve } from "../browser.mjs";
import { startProvider } from "../provider.mjs";

const PACKAGE = fileURLToPath(new URL("../../../pkg", import.meta.url));

// The resolutions that a bundler takes from the package's `imports` and `exports`.
const IMPORTS = {
  "#platform": "/dist/platform/browser.js",
  "#wasm/": "/dist/wasm/files/",
  emend: "/dist/index.js",
  "emend/edit": "/dist/edit.js",
  "emend/fs": "/dist/fs.js",
  "emend/llm": "/dist/llm.js",
  "emend/service": "/dist/service.js",
  "emend/service-client": "/dist/service-client.js",
};

/** Runs `work` in an empty page that can import the package. Returns its result and the loaded modules. */
async function inPage(page, work, argument) {
  // Not with `page.route`: Chromium regards such a page as public, and blocks its requests to local addresses.
  const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;
  const served = await serve(PACKAGE, { "/page.html": html });
  const modules = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) modules.push(request.url().split("/").at(-1));
  });
  try {
    await page.goto(`${served.url}page.html`);
    return { found: await page.evaluate(work, argument), modules };
  } finally {
    await served.close();
  }
}

/** Starts a server that sends only the first event of a response. `left` resolves when the client disconnects. */
async function startSilent() {
  let gone;
  const left = new Promise((resolve) => (gone = resolve));
  const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  const server = createServer((request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
    const chunk = { id: "c", model: "m", choices: [{ index: 0, delta: { content: "partly" } }] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.on("close", gone);
  });
  return { url: await listen(server), left, close: () => closed(server) };
}

export const tests = {
  async "an agent edits a directory of the private file system, which stays in it"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { Agent } = await import("emend");
      const { directoryFs, opfsFs } = await import("emend/fs");
      const top = await navigator.storage.getDirectory();
      const all = directoryFs(top);
      await all.write("outside.txt", new TextEncoder().encode("colour"));
      const fs = opfsFs("projects/one");
      await fs.write("src/notes.md", new TextEncoder().encode("colour\n"));
      const agent = await Agent.create({ environment: fs });
      await agent.run("rename colour to color").result;
      await agent.acceptAll();
      const codes = [];
      for (const path of ["../../outside.txt", "/outside.txt", "src", "gone"])
        await fs.read(path).catch((error) => codes.push(error.code));
      for (const path of ["src/notes.md/below", "src"])
        await fs.write(path, new Uint8Array(1)).catch((error) => codes.push(error.code));
      await fs.list("src/notes.md").catch((error) => codes.push(error.code));
      const text = await (await all.read("projects/one/src/notes.md")).toString();
      await fs.remove("src/notes.md");
      return { codes, text, left: await fs.list("src"), stat: await all.stat("outside.txt").then(({ size }) => size) };
    });
    assert.deepEqual(found, {
      codes: ["permission_denied", "permission_denied", "invalid_argument", "not_found"].concat(
        Array(3).fill("invalid_argument"),
      ),
      text: String(new TextEncoder().encode("color\n")),
      left: [],
      stat: 6,
    });
    // The offline model searches for a word.
    assert.deepEqual(modules.sort(), ["core_bg.wasm", "offline-core_bg.wasm", "regex-core_bg.wasm"]);
  },
  async "only a pattern other than plain text loads the regex engine, once"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { Agent } = await import("emend");
      const agent = await Agent.create({ files: { "a.txt": "one\ntwo\n", "b/c.md": "Two\n" } });
      const lines = async (pattern, options) => (await agent.files.grep(pattern, options)).map(({ path }) => path);
      const plain = [await lines("two"), await lines("two", { glob: "**/*.{md,txt}" }), agent.files.glob("b/?.md")];
      const before = performance
        .getEntriesByType("resource")
        .filter((entry) => entry.name.includes("regex-core")).length;
      const patterns = [await lines("^t\\w+$", { ignoreCase: true }), await lines("o$")];
      agent.close();
      return { plain: [plain[0], plain[1], await plain[2]], before, patterns };
    });
    assert.deepEqual(found, {
      plain: [["a.txt"], ["a.txt"], ["b/c.md"]],
      before: 0,
      patterns: [
        ["a.txt", "b/c.md"],
        ["a.txt", "b/c.md"],
      ],
    });
    assert.deepEqual(modules, ["core_bg.wasm", "regex-core_bg.wasm"]);
  },
  async "emend/edit runs a patch, a diff and a review in a page, and loads nothing else"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { load, patchProblem } = await import("emend/edit");
      const edit = await load();
      const patch = {
        format: "v4a",
        text: "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-zwei 🦀\n+two\n*** End Patch\n",
      };
      const after = edit.apply(patch, { "a.txt": "one\nzwei 🦀\n" })["a.txt"];
      const [hunk] = edit.diff("one\nzwei 🦀\n", after, { words: true });
      const log = edit.openLog("one\nzwei 🦀\n");
      log.write(after, { origin: "agent" });
      log.reject([log.hunks()[0].id]);
      let refusal;
      try {
        edit.apply(patch, { "a.txt": "one\nthree\n" });
      } catch (error) {
        refusal = [error.name, error.code, patchProblem(error).error.reason.kind];
      }
      return {
        after,
        lines: hunk.lines.map((line) => [line.kind, line.text, line.spans ?? null]),
        rejected: log.visibleText,
        refusal,
      };
    });
    assert.deepEqual(found, {
      after: "one\ntwo\n",
      lines: [
        ["context", "one\n", null],
        ["removed", "zwei 🦀\n", [[0, 7]]],
        ["added", "two\n", [[0, 3]]],
      ],
      rejected: "one\nzwei 🦀\n",
      refusal: ["ConflictError", "conflict", "not_found"],
    });
    assert.deepEqual(modules, ["edit-core_bg.wasm"]);
  },

  async "emend/service runs a job in a page up to its review, and loads nothing of emend"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { createService } = await import("emend/service");
      const { createClient } = await import("emend/service-client");
      const service = await createService({ files: { "notes.md": "The colour of the sky.\n" } });
      const client = createClient({ fetch: service.fetch });
      const { session_id } = await client.call("CreateSession");
      const instruction = "rename colour to color in notes.md";
      const { job_id } = await client.call("Run", { body: { session_id, instruction } });
      const kinds = new Set();
      for await (const { type } of client.events({ job: job_id })) {
        kinds.add(type);
        if (type === "diff.generated") break;
      }
      const { files } = await client.call("GetReview", { job_id });
      const accepted_hunk_ids = files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
      const { status } = await client.call("Apply", { body: { session_id, job_id, accepted_hunk_ids } });
      const saved = await service.files.readDisk("notes.md");
      await service.close();
      return { kinds: [...kinds], status, saved };
    });
    for (const kind of ["attached", "job.queued", "message.delta", "tool.call.completed", "edits.proposed"]) {
      assert.ok(found.kinds.includes(kind), `${kind} in ${found.kinds}`);
    }
    assert.deepEqual([found.status, found.saved], ["completed", "The color of the sky.\n"]);
    assert.deepEqual(modules, ["service-core_bg.wasm", "offline-core_bg.wasm"]);
  },

  async "emend/llm streams from a server in a page, runs a tool and can be cancelled"({ page }) {
    const provider = await startProvider("key-1", [
      "Hello from afar.",
      { name: "add", input: { a: 1, b: 2 } },
      "It is 3.",
    ]);
    const silent = await startSilent();
    try {
      const { found, modules } = await inPage(
        page,
        async ([url, silentUrl]) => {
          const { Client } = await import("emend/llm");
          const client = await Client.create({
            providers: [
              { api: "anthropic-messages", apiKey: "key-1", baseUrl: url },
              { api: "openai-chat", name: "silent", baseUrl: silentUrl },
            ],
          });
          const ask = { model: "m", messages: [{ role: "user", content: [{ kind: "text", text: "hi" }] }] };
          const deltas = [];
          for await (const event of client.stream(ask)) if (event.type === "text_delta") deltas.push(event.delta);
          const parameters = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };
          const tools = [{ name: "add", description: "Adds", parameters, execute: ({ a, b }) => a + b }];
          const { text, steps } = await client.generate({ model: "m", prompt: "1 + 2?", tools });

          const abort = new AbortController();
          const partly = [];
          let refusal;
          try {
            for await (const event of client.stream({ ...ask, provider: "silent" }, { signal: abort.signal })) {
              if (event.type !== "text_delta") continue;
              partly.push(event.delta);
              abort.abort();
            }
          } catch (error) {
            refusal = [error.name, error.code];
          }
          client.close();
          return { deltas, text, results: steps[0].toolResults.map((result) => result.content), partly, refusal };
        },
        [provider.url, silent.url],
      );
      assert.deepEqual(found, {
        deltas: ["Hello ", "from ", "afar."],
        text: "It is 3.",
        results: [3],
        partly: ["partly"],
        refusal: ["AbortError", "aborted"],
      });
      await silent.left;
      assert.deepEqual(modules, ["llm-core_bg.wasm"]);
    } finally {
      await silent.close();
      await provider.close();
    }
  },

  async "the agent works with a provider that is written in the page"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { Agent } = await import("emend");
      const provider = {
        name: "in-page",
        async *stream(request) {
          const done = request.messages.at(-1).role === "tool";
          if (done) yield { type: "text_delta", delta: "Written." };
          else yield { type: "tool_call", name: "write_file", arguments: { file_path: "a.txt", content: "hi\n" } };
          yield { type: "finish" };
        },
      };
      const agent = await Agent.create({ model: { provider } });
      const { text, reason } = await agent.run("write a.txt").result;
      const file = await agent.files.read("a.txt");
      agent.close();
      return { text, reason, file: file.text };
    });
    assert.deepEqual(found, { text: "Written.", reason: "natural", file: "hi\n" });
    assert.deepEqual(modules, ["core_bg.wasm"]);
  },

  async "commands run over the agent's files in a page, in a module that the first command loads"({ page }) {
    const { found, modules } = await inPage(page, async () => {
      const { Agent } = await import("emend");
      const loaded = () =>
        performance.getEntriesByType("resource").filter((entry) => entry.name.endsWith("shell-core_bg.wasm")).length;
      const commands = [
        "echo hi > a.txt && cat a.txt | wc -c",
        "for i in 1 2 3; do echo line $i; done | grep -v 2 | sed 's/line/row/' | awk '{ print $2, $1 }'",
        "no-such-command",
        "while :; do :; done",
        "sleep 600",
      ];
      const told = [];
      const provider = {
        name: "in-page",
        async *stream(request) {
          const last = request.messages.at(-1);
          if (last.role === "tool") told.push(last.content[0].content.replace(/ after \d+ ms/, ""));
          const command = commands[told.length];
          if (command === undefined) yield { type: "text_delta", delta: "Done." };
          else
            yield {
              type: "tool_call",
              name: "shell",
              arguments: { command, timeout_ms: command === "sleep 600" ? 50 : 600_000 },
            };
          yield { type: "finish" };
        },
      };
      const agent = await Agent.create({ model: { provider }, shell: true });
      const before = loaded();
      await agent.run("go").result;
      const review = agent.review().files.map((file) => [file.path, file.operation]);
      const disk = await agent.files.readDisk("a.txt");
      agent.close();
      return { before, after: loaded(), told, review, disk };
    });
    assert.deepEqual([found.before, found.after], [0, 1]);
    assert.match(found.told[0], /^\s*3\n\[changed: a\.txt\]\n\[exit code 0\]$/);
    assert.equal(found.told[1], "1 row\n3 row\n[exit code 0]");
    assert.match(found.told[2], /\[exit code 127\]$/);
    assert.match(found.told[3], /Command timed out after 600000ms/);
    assert.match(found.told[4], /Command timed out after 50ms/);
    assert.deepEqual([found.review, found.disk], [[["a.txt", "create"]], null], "what a command made waits for review");
    assert.deepEqual(modules, ["core_bg.wasm", "shell-core_bg.wasm"]);
  },
};
