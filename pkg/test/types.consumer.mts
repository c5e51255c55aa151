// Compiled by types.test.mjs, never run: what a consumer may write, and what must not compile.

import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type CanvasState,
  type EventOf,
  type FileState,
  type Hunk,
  init,
  isEmendError,
  ProviderError,
  type Review,
  type Run,
  type RunResult,
} from "emend";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const options: AgentOptions = {
  files: { "a.txt": "text", "b.bin": new Uint8Array(1) },
  model: { provider: "offline", paceMs: 3 },
  mode: "staged",
};
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
if (result.error instanceof ProviderError && isEmendError(result.error, "authentication")) result.error.retryable satisfies boolean;

const review: Review = agent.review();
const hunks: Hunk[] = review.files.flatMap((file) => file.hunks);
await agent.accept(hunks.map((hunk) => hunk.id));
await agent.reject([hunks[0]!.id], { dependents: "only" });
// @ts-expect-error no such answer
await agent.reject([], { dependents: "all" });
const state: FileState | null = await agent.files.read("a.txt");
const canvas: CanvasState = agent.canvas.open(state?.path ?? "a.txt");
canvas.held satisfies boolean;
// @ts-expect-error agents are made by `create`
new Agent();
agent.close();

{
  using scoped = await Agent.create();
  scoped.canvas.takeBack();
}
