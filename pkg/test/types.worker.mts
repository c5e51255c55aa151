// Compiled by types.test.mjs, never run: an agent in a worker as a consumer's program sees it.

import { type AgentEvent, type FileState, type Review, type RunResult, type Turn, tool } from "emend";
import { memoryFs } from "emend/fs";
import { type Async, WorkerAgent, type WorkerMethods, type WorkerRun } from "emend/worker";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const count = tool({ name: "count", description: "Counts.", parameters: { type: "object" }, execute: () => "1" });
const agent = await WorkerAgent.create({ environment: memoryFs(), tools: [count], approve: () => "allow" });
const run: WorkerRun = agent.run("go", { signal: AbortSignal.timeout(1) });
for await (const event of run) holds<Equal<typeof event, AgentEvent>>();
for await (const event of agent.events({ after: 3 })) holds<Equal<typeof event, AgentEvent>>();
const result: RunResult = await run.result;
const review: Review = await agent.review();
const turns: Turn[] = await agent.turns();
const file: FileState | null = await agent.files.read("a.txt");
const diff: string = await agent.files.diff();
await agent.accept(["h1"], { over: true });
await WorkerAgent.create({ startTimeoutMs: Infinity });
await agent.configure({ maxTurns: 3, model: null });
const stop: () => void = agent.subscribe(({ kind }) => kind);
const methods: WorkerMethods = agent;
holds<Equal<Async<{ a(): number; b: string }>, { a: () => Promise<number> }>>();
// @ts-expect-error a promise
agent.review().files;
// @ts-expect-error no such method
agent.files.nonsense();
// @ts-expect-error not in a worker
await WorkerAgent.create({ telemetry: {} });
// @ts-expect-error created by `create`
new WorkerAgent();
agent.close();
