// A storm of hostile embedders, in Node and in a page. None of them stops the core, every promise settles after at most
// one cancel, and other agents work on.

import { Agent, isEmendError } from "emend";
import { Client } from "emend/llm";
import { SHOP } from "./fixtures.mjs";
import { Embedder } from "./hostile.mjs";

/** Number of embedders at the same time. A panic of one of them would end all of them. */
const CONCURRENT = 25;

/** Time for a run to end by itself, then after its cancel, in milliseconds. Neither is reached by a healthy run. */
const PATIENCE_MS = 150;
const LIMIT_MS = 20_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the outcome of a promise, or `undefined` if it does not settle in time. */
async function outcomeOf(promise, ms) {
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  const settled = promise.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
}

/** Reads a run in one of several ways. */
async function read(run, way) {
  if (way === "result") return run.result;
  for await (const event of run)
    if (way === "break" && (event.kind ?? event.type).toLowerCase().startsWith("tool_call")) break;
  return run.result;
}

/** Runs one embedder to its end. Returns its outcome, and throws if a rule was broken. */
async function embed(seed) {
  const embedder = new Embedder(seed);
  const { random } = embedder;
  const made = await Agent.create(embedder.options()).catch((error) => ({ error }));
  if (made.error !== undefined) return `create ${codeOf(made.error)}`;
  const agent = made;
  const promises = [];
  let run;
  const keep = (work) => {
    try {
      const promise = work();
      if (!(promise instanceof Promise)) return;
      promise.catch(() => {});
      promises.push(promise);
    } catch (error) {
      refuseInternal(error);
    }
  };
  const actions = [
    () => run?.cancel(),
    () => agent.close(),
    () => agent.run("again").result,
    () => run?.steer("and now this"),
    () => agent.followUp("then that"),
    () => agent.turns(),
    () => agent.review(),
    () => agent.configure({ instructions: "\ud800", maxToolRounds: 3 }),
    () => agent.files.write("notes.md", "mine\n"),
    () => agent.files.read("notes.md"),
    () => agent.files.list(),
    () => agent.acceptAll(),
    () => agent.rejectAll(),
    () => agent.compact(),
    () => agent.undo(),
    () => agent.canvas.open("notes.md"),
    () => agent.canvas.takeBack(),
    () => agent.events().next(),
    () => agent.sessionId,
  ];
  // Closing is rarer than the rest: it ends the story.
  embedder.callBack = () => keep(random.chance(0.9) ? random.pick(actions.filter((_, at) => at !== 1)) : actions[1]);
  const abort = new AbortController();
  const feed = (async () => {
    for await (const _ of agent.events());
  })();
  promises.push(feed);
  run = agent.run(random.pick(["rename Price to Cost", "look at @notes.md"]), { signal: abort.signal });
  const reading = read(run, random.pick(["result", "events", "break"]));
  if (random.chance(0.2)) setTimeout(() => keep(random.pick(actions)), random.below(10));

  let outcome = await outcomeOf(reading, PATIENCE_MS);
  let how = "";
  if (outcome === undefined) {
    how = " after cancel";
    if (random.chance(0.5)) run.cancel();
    else abort.abort();
    outcome = await outcomeOf(reading, LIMIT_MS);
  }
  ensure(outcome, `the run does not end after a cancel; ${embedder.faults}`);
  const settledResult = await outcomeOf(run.result, LIMIT_MS);
  ensure(settledResult, `the result does not settle; ${embedder.faults}`);
  agent.close();
  for (const promise of promises) {
    const settled = await outcomeOf(promise, LIMIT_MS);
    ensure(settled, `a promise does not settle after \`close\`; ${embedder.faults}`);
    if (settled.error !== undefined) refuseInternal(settled.error);
  }
  if (outcome.error !== undefined) return `${codeOf(outcome.error)}${how}`;
  const { reason, error } = outcome.value;
  ensure(reason !== "error" || error !== undefined, "an error without a description");
  return `${reason}${error === undefined ? "" : ` ${codeOf(error)}`}${how}`;
}

/** As {@link embed}, for a client without an agent. */
async function embedClient(seed) {
  const embedder = new Embedder(seed);
  const { random } = embedder;
  const { model, fetch, tools } = embedder.options();
  const hostile = model?.provider?.stream === undefined ? embedder.provider().provider : model.provider;
  const providers = random.chance(0.5) ? [hostile] : [{ api: "anthropic-messages", apiKey: "k" }];
  const client = await Client.create({ providers, fetch });
  const abort = new AbortController();
  const options = { model: "m", prompt: "hi", tools, signal: abort.signal, maxToolRounds: 3 };
  let stream;
  embedder.callBack = () => {
    try {
      random.pick([() => stream?.cancel(), () => client.providers, () => client.generateStream(options).cancel()])();
      if (random.chance(0.1)) client.close();
    } catch (error) {
      refuseInternal(error);
    }
  };
  stream = client.generateStream(options);
  const reading = random.chance(0.5) ? stream.result : read(stream, random.pick(["events", "break"]));
  let outcome = await outcomeOf(reading, PATIENCE_MS);
  let how = "";
  if (outcome === undefined) {
    how = " after cancel";
    if (random.chance(0.5)) stream.cancel();
    else abort.abort();
    outcome = await outcomeOf(reading, LIMIT_MS);
  }
  ensure(outcome, `the stream does not end after a cancel; ${embedder.faults}`);
  client.close();
  return `${outcome.error === undefined ? "done" : codeOf(outcome.error)}${how}`;
}

function refuseInternal(error) {
  ensure(!isEmendError(error, "internal"), `a panic: ${error?.message}`);
}

function codeOf(error) {
  refuseInternal(error);
  return isEmendError(error) ? error.code : `raw ${error?.name}`;
}

/** Throws an error with `message` unless `condition` holds. */
function ensure(condition, message) {
  if (!condition) throw new Error(message);
}

/** Runs `embed` with `count` seeds from `first` on. `check` runs after each of them. */
async function storm(first, count, embed, check) {
  const outcomes = new Map();
  const broken = [];
  const ahead = Array.from({ length: count }, (_, at) => first + at).values();
  const some = async () => {
    for (const seed of ahead) {
      try {
        const outcome = await embed(seed);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        await check();
      } catch (error) {
        broken.push(`seed ${seed}: ${error.message.split("\n")[0]}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, some));
  // Late callbacks still arrive.
  await pause(20);
  const frequent = [...outcomes].sort((a, b) => b[1] - a[1]).map(([outcome, n]) => `${n} × ${outcome}`);
  return { lines: [`seeds ${first} to ${first + count - 1}`, ...frequent], broken };
}

/** Runs hostile embedders of an agent. Returns lines that describe their outcomes, and the broken rules. */
export async function agentStorm(first, count) {
  const witness = await Agent.create({ files: SHOP });
  const report = await storm(first, count, embed, async () => {
    ensure((await witness.files.read("notes.md")).text === SHOP["notes.md"], "the other agent is gone");
  });
  const { reason } = await witness.run("rename Price to Cost").result;
  if (reason !== "natural") report.broken.push(`the run of the other agent ended with ${reason}`);
  witness.close();
  return report;
}

/** As {@link agentStorm}, for a client without an agent. */
export async function clientStorm(first, count) {
  const witness = await Client.create({ providers: [{ api: "anthropic-messages", apiKey: "k" }] });
  const report = await storm(first, count, embedClient, () => {
    ensure(witness.providers.length === 1, "the other client is gone");
  });
  witness.close();
  return report;
}
