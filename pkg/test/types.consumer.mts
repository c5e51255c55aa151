// Compiled by types.test.mjs, never run: code that must compile, and code that must not.

import {
  Agent,
  type AgentChanges,
  type AgentEvent,
  type AgentOptions,
  type CanvasState,
  type EventOf,
  type ExecutionEnvironment,
  type FileMatches,
  type FileState,
  fromDirectory,
  fromZip,
  type Hunk,
  indexedDbStore,
  init,
  isEmendError,
  memoryStore,
  ProviderError,
  type Review,
  type Run,
  type RunResult,
  type SessionStore,
  type SessionSummary,
  type Tool,
  toDirectory,
  toZip,
} from "emend";
import { directoryFs, type FsEnvironment, type MemoryFs, memoryFs, opfsFs } from "emend/fs";
import { nodeFs } from "emend/node";

declare const process: { env: Record<string, string | undefined> };

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const options: AgentOptions = {
  files: { "a.txt": "text", "b.bin": new Uint8Array(1) },
  model: { provider: "offline", paceMs: 3, wasm: new Uint8Array() },
  mode: "staged",
};
const withShell: AgentOptions[] = [{ shell: true }, { shell: { wasm: new URL("file:///shell.wasm") } }];
// @ts-expect-error no such shell
const otherShell: AgentOptions = { shell: "bash" };
// @ts-expect-error fixed when the agent is created
const later: AgentChanges = { shell: true };
const limited: AgentOptions = { quota: { bytes: 1_000_000 } };
// @ts-expect-error fixed when the agent is created
const more: AgentChanges = { quota: {} };
const held = new Map<string, string | Uint8Array>();
const environment: ExecutionEnvironment = {
  platform: "linux",
  read: (path, { signal }) => (signal.aborted ? null : held.get(path)),
  write: async (path, content) => {
    holds<Equal<typeof content, Uint8Array<ArrayBuffer>>>();
    new Blob([content]);
    held.set(path, content);
  },
  remove: (path) => void held.delete(path),
  stat: (path) => (held.has(path) ? { kind: "file", size: 1 } : undefined),
  async *list() {
    yield "a.txt";
    yield { name: "src", kind: "directory" as const };
  },
  grep: async (_pattern, { ignoreCase }) => (ignoreCase ? ["a.txt"] : [{ path: "b.txt" }]),
  exec: async (_command, { onOutput, timeoutMs }) => (onOutput(`${timeoutMs}`, "stderr"), { exitCode: 0 }),
};
const hosted: AgentOptions = { environment, mode: "direct" };
const readyMade: FsEnvironment[] = [memoryFs({ "a.txt": "a" }), nodeFs("."), opfsFs(), opfsFs("projects/one")];
const inMemory: MemoryFs = memoryFs();
holds<Equal<ReturnType<MemoryFs["export"]>, Record<string, Uint8Array<ArrayBuffer>>>>();
const withExec: AgentOptions = { environment: { ...nodeFs("."), exec: () => ({ exitCode: 0 }) }, mode: "direct" };
declare const pickedHandle: import("emend").DirectoryHandle;
const ofPicked: AgentOptions = { environment: directoryFs(pickedHandle) };
// @ts-expect-error not a handle
directoryFs("projects");
// @ts-expect-error methods are missing
const half: ExecutionEnvironment = { read: () => null };
// @ts-expect-error no such kind
const special: ExecutionEnvironment = { ...environment, stat: () => ({ kind: "fifo" }) };
// @ts-expect-error fixed when the agent is created
const moved: AgentChanges = { environment };
const asking: AgentOptions = {
  policy: [
    { action: "allow", tool: "edit_file", pattern: "docs/**" },
    { action: "ask", tool: "*" },
  ],
  approve: async ({ toolName, arguments: given, detail }) => {
    holds<Equal<typeof given, unknown>>();
    return detail?.command === "ls" ? "allow" : { decision: "deny", reason: `no ${toolName}` };
  },
};
// @ts-expect-error no such answer
const careless: AgentOptions = { approve: () => "sure" };
// @ts-expect-error no such action
const unruly: AgentOptions = { policy: [{ action: "maybe", tool: "*" }] };
const key = process.env.KEY;
const keyed: AgentOptions[] = [
  { model: { provider: "anthropic", apiKey: key, baseUrl: key } },
  { model: { provider: "anthropic", apiKey: "k", model: "m", headers: { a: "b" } } },
  { model: { provider: "openai_compatible", apiKey: key, model: "m", baseUrl: "http://127.0.0.1:1234/v1" } },
];
// @ts-expect-error `webSearch` needs a `model`
const searching: AgentOptions = { model: { provider: "anthropic", apiKey: "k", webSearch: true } };
// @ts-expect-error `headers` need a `model`
const modelless: AgentOptions = { model: { provider: "anthropic", apiKey: "k", headers: { a: "b" } } };
// @ts-expect-error a key is needed
const keyless: AgentOptions = { model: { provider: "anthropic" } };
// @ts-expect-error no such mode
const both: AgentOptions = { mode: "both" };

await init({ wasm: new URL("file:///core.wasm") });
const agent = await Agent.create(options);
const run: Run = agent.run("rename A to B", { signal: AbortSignal.timeout(1000) });
for await (const event of run) {
  holds<Equal<typeof event, AgentEvent>>();
  switch (event.kind) {
    case "ASSISTANT_TEXT_DELTA":
      holds<Equal<typeof event.data.delta, string>>();
      break;
    case "TOOL_CALL_END":
      holds<Equal<typeof event.data.ok, boolean>>();
      // @ts-expect-error another kind's data
      event.data.delta;
      break;
    case "PROCESSING_END":
      holds<Equal<typeof event, EventOf<"PROCESSING_END">>>();
      break;
  }
}
const result: RunResult = await run.result;
if (result.error instanceof ProviderError && isEmendError(result.error, "authentication"))
  result.error.retryable satisfies boolean;
if (isEmendError(result.error, "conflict")) holds<Equal<typeof result.error.code, "conflict">>();

const review: Review = agent.review();
const hunks: Hunk[] = review.files.flatMap((file) => file.hunks);
await agent.accept(hunks.map((hunk) => hunk.id));
await agent.reject([hunks[0]!.id], { dependents: "only" });
// @ts-expect-error no such answer
await agent.reject([], { dependents: "all" });
const state: FileState | null = await agent.files.read("a.txt");
const canvas: CanvasState = agent.canvas.open(state?.path ?? "a.txt");
canvas.held satisfies boolean;
// @ts-expect-error agents are created by `create`
new Agent();

const found: FileMatches[] = await agent.files.grep("a+", {
  path: "src",
  glob: "*.ts",
  ignoreCase: true,
  contextLines: 2,
  maxResults: 9,
});
found[0]?.lines[0]?.isMatch satisfies boolean | undefined;
(await agent.files.glob("**/*.ts", { path: "src" })) satisfies string[];
await Agent.create({ files: agent.files, quota: { files: 10 } });
const exported = await agent.files.export({ pending: true });
holds<Equal<typeof exported, Record<string, Uint8Array<ArrayBuffer>>>>();
const archive: Uint8Array<ArrayBuffer> = await toZip(
  { ...exported, "a/": "", "b.txt": "text" },
  { level: 9, modified: new Date(0) },
);
new Blob([archive, exported["b.txt"]!]);
holds<Equal<Awaited<ReturnType<typeof fromZip>>, Record<string, Uint8Array<ArrayBuffer>>>>();
await Agent.create({
  files: await fromZip(archive, { maxBytes: 1, maxFiles: 1, filter: (path) => path.endsWith("/") }),
});
// @ts-expect-error the core's engine compiles it
await agent.files.grep(/a/);
const picked = { kind: "directory", name: "shop" } as const;
await toDirectory(picked, await fromDirectory(picked));

run.steer("in French");
agent.followUp("then tidy up");
const changes: AgentChanges = {
  model: { provider: "offline" },
  effort: null,
  profile: "gemini",
  edits: "own",
  maxTurns: 3,
  readOnly: true,
};
agent.configure(changes);
const withFallback: AgentChanges = {
  edits: "edit_lines",
  model: {
    provider: "gemini",
    model: "m",
    apiKey: "k",
    webSearch: true,
    safety: { HARM_CATEGORY_HARASSMENT: "BLOCK_ONLY_HIGH" },
    providerOptions: { cachedContent: "c" },
    fallback: { provider: "openai_compatible", model: "small", baseUrl: "http://localhost:1", constrainedTools: true },
    fallbackAttempts: 1,
    fallbackAfterMs: 60_000,
  },
};
agent.configure(withFallback);
// @ts-expect-error another way to edit
agent.configure({ edits: "lines" });
agent.configure({ model: null, profile: null, tools: null, policy: null, maxTurns: null, webFetch: undefined });
// @ts-expect-error a new agent has no option to reset
const none: AgentOptions = { model: null };
// @ts-expect-error fixed when the agent is created
agent.configure({ mode: "direct" });
const tool: Tool<{ city: string }> = { name: "weather", description: "", parameters: {}, execute: ({ city }) => city };
const store: SessionStore = {
  append() {},
  load: async () => null,
  names: () => new Set<string>(),
  remove: () => false,
};
const saved: SessionSummary[] = await Agent.sessions(store);
const resumed = await Agent.resume(saved[0]!.id, { store: memoryStore(), tools: [tool] });
await Agent.fork(resumed.sessionId, { store: indexedDbStore("mine"), turns: 2 });
for await (const event of resumed.events({ after: 3 })) holds<Equal<typeof event, AgentEvent>>();
(await resumed.compact()).tokensAfter satisfies number;
resumed.turns()[0]?.message.role satisfies string | undefined;
agent.close();

{
  using scoped = await Agent.create();
  scoped.canvas.takeBack();
}

declare const reason: string | undefined;
await Agent.create({ approve: () => ({ decision: "deny", reason }) });
