// Files that programs run by themselves: an agent that saves at once asks before it writes one.

import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { createService } from "emend/service";
import { create, mapped } from "./environments.mjs";
import { collect, results, SHOP, scripted } from "./support.mjs";

const { isProtected, PROTECTED_NAMES, withQuestions } = await import(
  new URL("agent/protected-files.js", import.meta.resolve("emend"))
);

const RUST = await readFile(new URL("../../crates/emend-cli/src/obeyed.rs", import.meta.url), "utf8");

const write = (path, content = "new\n") => ["write_file", { file_path: path, content }];

/** Lets a model make `calls`, each in a response of its own. Returns what was asked, the results, and the agent. */
async function run(t, environment, calls, options = {}, answer = "allow") {
  const { model, requests } = scripted(calls.map((call) => [call]));
  const asked = [];
  const approve = (request) => (asked.push(request.detail?.paths ?? request.toolName), answer);
  const ask = answer === null ? {} : { approve };
  const agent = await create(t, environment, { model, mode: "direct", ...ask, ...options });
  const events = await collect(agent.run("go"));
  const codes = events
    .filter((event) => event.kind === "TOOL_CALL_END")
    .map(({ data }) => (data.ok ? "done" : data.errorInfo.code));
  return { asked, codes, told: requests.slice(1).flatMap(results), agent, model, requests };
}

const ALLOWED = [
  [{ action: "allow", tool: "write_file" }],
  [{ action: "allow", tool: "edit" }],
  [{ action: "allow", tool: "*" }],
  [{ action: "allow", tool: "*", pattern: "**" }],
  [{ action: "allow", tool: "edit", pattern: "*" }],
  [
    { action: "deny", tool: "edit", pattern: "secrets/**" },
    { action: "allow", tool: "write_file" },
  ],
];
const RUN_LATER = [".git/hooks/post-commit", ".emend.toml", ".envrc", "a/.VSCode/tasks.json", "mirror.git/HEAD"];

test("writes of files that programs run are asked about, whatever general rules allow", async (t) => {
  for (const policy of ALLOWED) {
    const environment = mapped(SHOP);
    const calls = [write("src/new.js"), ...RUN_LATER.map((path) => write(path)), write("HEADER")];
    const { asked, codes } = await run(t, environment, calls, { policy });
    assert.deepEqual(
      asked,
      RUN_LATER.map((path) => [path]),
      JSON.stringify(policy),
    );
    assert.deepEqual(
      codes,
      calls.map(() => "done"),
    );
    for (const path of RUN_LATER) assert.equal(environment.text(path), "new\n");
  }
});

test("every tool that edits is asked about, also under the names of a profile", async (t) => {
  const policy = [{ action: "allow", tool: "*" }];
  const patch = "*** Begin Patch\n*** Add File: .husky/pre-push\n+run\n*** End Patch\n";
  const calls = [
    ["edit_file", { file_path: ".envrc", old_string: "", new_string: "run\n" }],
    ["apply_patch", { patch }],
    ["move_file", { from: "notes.md", to: ".githooks/pre-push" }],
    ["move_file", { from: ".mise.toml", to: "old.toml" }],
  ];
  const environment = mapped({ ...SHOP, ".mise.toml": "old\n" });
  const { asked, codes } = await run(t, environment, calls, { policy });
  assert.deepEqual(
    asked.map((paths) => paths.find(isProtected)),
    [".envrc", ".husky/pre-push", ".githooks/pre-push", ".mise.toml"],
  );
  assert.deepEqual(
    codes,
    calls.map(() => "done"),
  );
  const lines = [
    ["edit_lines", { file_path: ".envrc", edits: [{ operation: "replace", start_line: 1, new_text: "a" }] }],
  ];
  const others = [
    ["anthropic", [["Write", { file_path: ".envrc", content: "run\n" }]], {}],
    ["gemini", [["write_file", { file_path: ".envrc", content: "run\n" }]], {}],
    ["openai", [["read_file", { file_path: ".envrc" }], ...lines], { edits: "edit_lines" }],
  ];
  for (const [profile, made, further] of others) {
    const files = mapped(profile === "openai" ? { ".envrc": "old\n" } : SHOP);
    const outcome = await run(t, files, made, { policy, profile, ...further }, "deny");
    assert.equal(outcome.asked.length, 1, `${profile}: ${JSON.stringify(outcome.told)}`);
    assert.notEqual(files.text(".envrc"), "run\n");
  }
});

test("without a function that asks, such writes are refused", async (t) => {
  for (const policy of [undefined, ...ALLOWED]) {
    const environment = mapped({ ...SHOP, ".envrc": "old\n" });
    const calls = [
      write(".git/hooks/post-commit"),
      ["read_file", { file_path: ".envrc" }],
      write(".envrc"),
      write("b"),
    ];
    const { codes, told } = await run(t, environment, calls, { policy }, null);
    assert.deepEqual(codes, ["permission_denied", "done", "permission_denied", "done"], JSON.stringify(policy));
    assert.match(told[0], /was not allowed and did not run/);
    assert.equal(environment.text(".git/hooks/post-commit"), undefined);
    assert.equal(environment.text(".envrc"), "old\n");
  }
});

test("a rule that names the file decides, in any place of the policy", async (t) => {
  const all = { action: "allow", tool: "*" };
  const cases = [
    [[{ action: "allow", tool: "edit", pattern: ".git/hooks/*" }], "done"],
    [[all, { action: "allow", tool: "write_file", pattern: ".git/hooks/{post,pre}-commit" }], "done"],
    [[{ action: "allow", tool: "*", pattern: "**/.git/**" }, all], "done"],
    [[all, { action: "deny", tool: "edit", pattern: ".git/**" }], "permission_denied"],
    [[{ action: "deny", tool: "*" }, all], "permission_denied"],
    [[{ action: "deny", tool: "edit", pattern: "*commit" }, all], "permission_denied"],
    // General rules say nothing about such files, and neither do negated ones and those with alternatives.
    [[{ action: "allow", tool: "edit", pattern: ".g*/**" }], "asked"],
    [[{ action: "allow", tool: "edit", pattern: "!a/.git/b" }], "asked"],
    [[{ action: "allow", tool: "edit", pattern: "{a/.git/hooks/*,.git/**}" }], "asked"],
    [[{ action: "ask", tool: "edit" }, all], "asked"],
    [
      [
        { action: "allow", tool: "edit", pattern: "src/**" },
        { action: "deny", tool: "*" },
        { action: "allow", tool: "edit", pattern: ".git/**" },
      ],
      "permission_denied",
    ],
    // A later rule denies what no earlier one is about.
    [[{ action: "allow", tool: "read" }, { action: "deny", tool: "edit" }, all], "permission_denied"],
    [
      [
        { action: "allow", tool: "edit", pattern: "src/**" },
        { action: "deny", tool: "*" },
      ],
      "permission_denied",
    ],
    [
      [
        { action: "allow", tool: "edit", pattern: "src/**" },
        { action: "deny", tool: "edit", pattern: "*-commit" },
      ],
      "permission_denied",
    ],
    [
      [
        { action: "allow", tool: "edit" },
        { action: "deny", tool: "*" },
      ],
      "asked",
    ],
    [[all, { action: "deny", tool: "edit", pattern: "secrets/**" }], "asked"],
  ];
  for (const [policy, expected] of cases) {
    const { asked, codes } = await run(t, mapped(SHOP), [write(".git/hooks/post-commit")], { policy });
    assert.equal(asked.length > 0 ? "asked" : codes[0], expected, JSON.stringify(policy));
  }
});

test("rules for other files keep their order and their meaning", async (t) => {
  const policy = [
    { action: "allow", tool: "edit", pattern: "src/gen/**" },
    { action: "deny", tool: "edit", pattern: "src/**" },
    { action: "deny", tool: "edit", pattern: "vendor" },
    { action: "allow", tool: "write_file" },
  ];
  const paths = [
    "src/gen/a.js",
    "src/a.js",
    "a.js",
    "src/gen/.envrc",
    "src/.envrc",
    "src/lib/.git/config",
    ".envrc",
    "a/vendor/b/.envrc",
  ];
  const { asked, codes } = await run(
    t,
    mapped(SHOP),
    paths.map((path) => write(path)),
    { policy },
  );
  assert.deepEqual(asked, [["src/gen/.envrc"], [".envrc"]]);
  const denied = "permission_denied";
  assert.deepEqual(codes, ["done", denied, "done", "done", denied, denied, "done", denied]);
});

test("`always`, other options and a new policy do not end the questions", async (t) => {
  const environment = mapped(SHOP);
  const calls = [write("a.txt"), write("b.txt"), write(".envrc"), write(".emend.toml")];
  const { asked, agent, requests } = await run(t, environment, calls, {}, "always");
  assert.deepEqual(asked, ["write_file", [".envrc"], [".emend.toml"]]);
  asked.length = 0;
  agent.configure({ policy: [{ action: "allow", tool: "*" }], instructions: "Be brief." });
  requests.length = 0;
  await agent.run("again").result;
  assert.deepEqual(asked, [], "the answers still hold for these files");
  const other = await run(t, mapped(SHOP), [], {});
  other.agent.configure({ policy: null, model: scripted([[write("mise.toml")]]).model });
  await other.agent.run("go").result;
  assert.deepEqual(other.asked, [["mise.toml"]]);
});

test("without a policy, reading and questions to the user still need no approval", async (t) => {
  const tools = [
    { name: "look", description: "Looks.", parameters: { type: "object" }, effect: "reads", execute: () => "seen" },
  ];
  const calls = [
    ["read_file", { file_path: "notes.md" }],
    ["look", {}],
    ["clarify_user", { question: "Which?" }],
  ];
  for (const readOnly of [false, true]) {
    const { asked, codes } = await run(t, mapped(SHOP), calls, { tools, questions: true, readOnly });
    assert.deepEqual(asked, []);
    assert.deepEqual(codes, ["done", "done", "done"]);
  }
});

test("reading such a file is not asked about", async (t) => {
  const policy = [
    { action: "allow", tool: "read_file" },
    { action: "deny", tool: "edit", pattern: "*.lock" },
    { action: "allow", tool: "*" },
  ];
  const files = mapped({ ".vscode/tasks.json": "{}\n" });
  const { asked, codes } = await run(t, files, [["read_file", { file_path: ".vscode/tasks.json" }]], { policy });
  assert.deepEqual([asked, codes], [[], ["done"]]);
});

test("edits that wait for review, and files in memory, are not asked about", async (t) => {
  const calls = [write(".envrc")];
  const policy = [{ action: "allow", tool: "*" }];
  const environment = mapped(SHOP);
  const staged = await run(t, environment, calls, { policy, mode: "staged" });
  assert.deepEqual([staged.asked, staged.codes], [[], ["done"]]);
  assert.equal(environment.text(".envrc"), undefined);
  const memory = await run(t, undefined, calls, { policy, files: SHOP });
  assert.deepEqual([memory.asked, memory.codes], [[], ["done"]]);
});

test("a link to such a file on a real directory is asked about", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "emend-protected-"));
  t.after(() => rm(root, { recursive: true }));
  await mkdir(join(root, ".git/hooks"), { recursive: true });
  await symlink(".git/hooks", join(root, "tasks"));
  const environment = {
    read: (path) => readFile(join(root, path)),
    async write(path, content) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    },
    remove: (path) => rm(join(root, path)),
    list: (path) => readdir(join(root, path)),
    async stat(path) {
      const found = await lstat(join(root, path)).catch(() => null);
      if (found?.isSymbolicLink()) return { kind: "link", target: await readlink(join(root, path)) };
      return found && { kind: found.isDirectory() ? "directory" : "file", size: found.size };
    },
  };
  const policy = [{ action: "allow", tool: "write_file" }];
  const { asked, codes } = await run(t, environment, [write("tasks/post-commit"), write("a")], { policy }, "deny");
  assert.deepEqual([asked, codes], [[[".git/hooks/post-commit"]], ["permission_denied", "done"]]);
  assert.deepEqual(await readdir(join(root, ".git/hooks")), []);
  assert.equal(await readFile(join(root, "a"), "utf8"), "new\n");
});

test("a platform whose names have no case is asked in every spelling", async (t) => {
  const environment = mapped(SHOP, { platform: "win32" });
  const policy = [{ action: "allow", tool: "*" }];
  const { asked } = await run(t, environment, [write(".Git/Hooks/post-commit"), write(".ENVRC")], { policy });
  assert.deepEqual(asked, [[".Git/Hooks/post-commit"], [".ENVRC"]]);
});

test("a service over an environment asks through its API, in every mode", async (t) => {
  for (const mode of ["direct", "ask", "review"]) {
    const environment = mapped(SHOP);
    const { model } = scripted([[write("a.txt")], [write(".husky/pre-push")]]);
    const service = await createService({ environment, model, policy: [{ action: "allow", tool: "*" }] });
    t.after(() => service.close());
    const { session_id } = await service.request("POST", "/api/agent/sessions", { mode });
    const { job_id: job } = await service.request("POST", "/api/agent/run", { session_id, instruction: "go" });
    let asked;
    for await (const { type, data } of service.events({ job })) {
      if (type === "approval.requested") asked = data;
      if (asked || type === "job.completed") break;
    }
    assert.equal(asked?.arguments.file_path, ".husky/pre-push", mode);
    assert.equal((await service.files.read("a.txt")).text, "new\n");
    assert.equal(environment.text(".husky/pre-push"), undefined);
  }
});

test("the names are those of the command line", () => {
  const list = /const NAMES: \[&str; (\d+)\] = \[\n(.*?)\n\];/s.exec(RUST);
  const names = [...list[2].matchAll(/^ +"([^"\\]+)",$/gm)].map(([, name]) => name);
  assert.equal(names.length, Number(list[1]));
  const repository = /const REPOSITORY: &str = "(.*)";/.exec(RUST)[1];
  assert.deepEqual(PROTECTED_NAMES, names);
  assert.ok(isProtected(`a/${repository}`) && isProtected(repository.toUpperCase()));
  assert.ok(!isProtected(`${repository}/a`));
  // Each name alone, below another directory, in upper case, and as a directory; and names that only resemble it.
  for (const name of names) {
    const path = name.replace("*", "x");
    for (const yes of [path, `a/b/${path}`, path.toUpperCase(), `${path}/x/y`, `a/${path}/x`])
      assert.ok(isProtected(yes), yes);
    for (const no of [`x${path}`, `a/x${path}/b`]) assert.equal(isProtected(no), name.startsWith("*"), no);
    if (!name.endsWith("*")) assert.ok(!isProtected(`${path}x`), path);
  }
});

test("a pattern names such a file exactly as the tests of the command line say", async () => {
  const patterns = JSON.parse(await readFile(new URL("../../tests/protected/patterns.json", import.meta.url), "utf8"));
  // Negated patterns and alternatives do not name files here: the test of policies has them.
  const isName = (path) => !/[!{]/.test(path);
  for (const path of patterns.protected.filter(isName)) assert.ok(isProtected(path), path);
  // Only the command line looks for directories of hooks that a project names.
  for (const path of [...patterns.protected_in_a_project, ...patterns.others.filter(isName)])
    assert.ok(!isProtected(path), path);
  assert.ok(patterns.protected.filter(isName).length >= 9 && patterns.others.filter(isName).length >= 10);
});

test("the rules decide on a table of paths as the list does", async (t) => {
  const paths = PROTECTED_NAMES.flatMap((name) => {
    const path = name.replace("*", "x");
    return [path, `a/${path.toUpperCase()}`, `${path}/x`, `x${path}`, `${path}x`];
  });
  paths.push("head", "a/Head", "head/a", "overhead", ".g/config", ".gitignore", "Makefile", "package.json");
  assert.ok(paths.length >= 60);
  const policy = [{ action: "allow", tool: "*" }];
  const { model } = scripted([paths.map((path, at) => write(path, `${at}\n`))]);
  const asked = [];
  const approve = ({ arguments: { file_path: path } }) => (asked.push(path), "deny");
  const agent = await create(t, mapped({}), { model, mode: "direct", policy, approve });
  const ends = (await collect(agent.run("go"))).filter((event) => event.kind === "TOOL_CALL_END");
  assert.equal(ends.length, paths.length);
  assert.deepEqual(asked.sort(), paths.filter(isProtected).sort());
});

test("a policy without denials gets one rule", () => {
  const policy = [
    { action: "allow", tool: "edit", pattern: "src/**" },
    { action: "allow", tool: "*" },
  ];
  for (const ignoresCase of [false, true]) {
    const [rule, ...rest] = withQuestions(policy, ignoresCase);
    assert.deepEqual([rule.action, rule.tool, rest], ["ask", "edit", policy]);
    // Folding the case of a longer pattern would cost the core time in each call.
    assert.equal(rule.pattern.includes("[gG]"), !ignoresCase);
  }
});
