// Embedders that misbehave at a random moment, from a seed: their functions throw, hang, call back, or return nonsense.

import { memoryStore } from "emend";
import { mapped } from "./environments.mjs";
import { answerEvents, SHOP, sse } from "./fixtures.mjs";

const never = new Promise(() => {});

/** A random number generator (mulberry32) with helpers. */
export function randomOf(seed) {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return { below, chance: (share) => next() < share, pick: (list) => list[below(list.length)] };
}

/** An object of which every use throws. */
const thorn = () => {
  const fail = () => {
    throw new Error("a thorn was touched");
  };
  const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor", "apply", "construct", "set"];
  return new Proxy(() => {}, Object.fromEntries(traps.map((name) => [name, fail])));
};

const cycle = () => {
  const ring = { name: "ring" };
  ring.self = ring;
  return ring;
};

const thenable = (then) => ({ then });

/** Values that no documented function returns or yields. */
const NONSENSE = [
  () => undefined,
  () => null,
  () => 7,
  () => Number.NaN,
  () => -1n,
  () => "text",
  () => "\ud800",
  () => Symbol("odd"),
  () => ({}),
  () => [],
  () => [[], null, 7],
  () => Object.create(null),
  () => new Map([["a", 1]]),
  () => new Date(Number.NaN),
  () => () => "function",
  () => new Proxy(new Uint8Array(4), {}),
  () => new Uint32Array(3),
  () => ({ type: "text_delta" }),
  () => ({ type: "finish", usage: { inputTokens: -1, outputTokens: Number.NaN } }),
  () => ({ kind: "file", size: -1 }),
  () => ({ decision: "allow", reason: 7 }),
  () => ({ status: 200, headers: thorn(), body: null }),
  () => ({ status: 1e9 }),
  () => new Response("{", { headers: { "content-type": "application/json" } }),
  () => new Response(null, { status: 500 }),
  () => new Response("event: x\ndata: {\n\n", { headers: { "content-type": "text/event-stream" } }),
  () => ({ status: 200, headers: {}, body: { getReader: () => ({ read: () => ({ done: false, value: thorn() }) }) } }),
  () => ({ status: 200, headers: {}, body: { getReader: () => ({ read: () => never }) } }),
  thorn,
  cycle,
  () => ({
    get message() {
      throw new Error("no message");
    },
    get type() {
      throw new Error("no type");
    },
  }),
  // Settles twice, and then throws.
  () =>
    thenable((resolve) => {
      resolve(7);
      resolve(8);
      throw new Error("late");
    }),
  () => thenable((_, reject) => reject(thorn())),
  () => ({ [Symbol.asyncIterator]: () => ({ next: () => thorn() }) }),
  () => ({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 / 0 }), return: thorn() }).next }),
];

const THROWN = [
  () => new Error("it failed"),
  () => new Error("a\ud800b"),
  () => Object.assign(new Error("gone"), { code: "ENOENT" }),
  () => Object.assign(new Error("full"), { code: "ENOSPC" }),
  () => Object.assign(new Error("taken"), { code: "conflict" }),
  () => Object.assign(new Error("try again"), { retryable: true }),
  () => new DOMException("stopped", "AbortError"),
  () => "a text",
  () => undefined,
  () => null,
  () => Symbol("odd"),
  () => Object.create(null),
  cycle,
  thorn,
];

/** One embedder. `ways` are the ways in which its functions misbehave; `callBack` is set once there is an agent. */
export class Embedder {
  callBack = () => {};
  /** Functions that were called although something went wrong before, for the report. */
  faults = [];

  constructor(seed) {
    this.random = randomOf(seed);
    /** Share of calls that misbehave. */
    this.share = this.random.pick([0.005, 0.02, 0.1, 0.3]);
  }

  /** Wraps a good function so that it misbehaves now and then, in one of `ways`. */
  wrap(name, good, ways = ["throw", "hang", "nonsense", "callBack", "late"]) {
    const { random } = this;
    return (...given) => {
      const signal = given.at(-1)?.signal;
      if (signal && random.chance(0.2)) signal.addEventListener("abort", () => this.callBack());
      if (!random.chance(this.share)) return good(...given);
      const way = random.pick(ways);
      this.faults.push(`${name}: ${way}`);
      switch (way) {
        case "throw":
          if (random.chance(0.5)) throw random.pick(THROWN)();
          return Promise.reject(random.pick(THROWN)());
        case "hang":
          return never;
        case "nonsense":
          return random.pick(NONSENSE)();
        case "callBack":
          this.callBack();
          return good(...given);
        default:
          return new Promise((resolve) => setTimeout(resolve, random.below(4))).then(() => good(...given));
      }
    };
  }

  /** Returns the options of an agent. */
  options() {
    const { random } = this;
    const approve = this.wrap("approve", () => random.pick(["allow", "always", "deny", { decision: "deny" }]));
    const tool = {
      name: "odd",
      description: "Does something.",
      parameters: { type: "object", properties: { text: { type: "string" } } },
      effect: random.pick(["reads", "writes", "runs", undefined]),
      execute: this.wrap("tool", () => "done"),
    };
    const environment = random.chance(0.4) ? this.environment() : undefined;
    return {
      ...(environment === undefined ? { files: SHOP } : { environment }),
      ...(random.chance(0.5) && { approve }),
      ...(random.chance(0.4) && { store: this.store() }),
      ...(random.chance(0.2) && { subagents: true }),
      ...(environment === undefined && random.chance(0.1) && { shell: true }),
      fetch: this.wrap("fetch", () => this.answer()),
      model: random.pick([this.provider(), this.provider(), { provider: "anthropic", apiKey: "k" }, undefined]),
      mode: environment?.exec === undefined ? random.pick(["direct", "staged"]) : "direct",
      profile: random.pick(["auto", "none", "anthropic"]),
      webFetch: random.chance(0.3),
      tools: [tool],
      maxToolRounds: 6,
    };
  }

  environment() {
    const good = mapped(SHOP);
    const wrapped = ["read", "stat", "list"].map((name) => [name, this.wrap(`environment.${name}`, good[name])]);
    const ways = ["throw", "hang", "callBack", "late"];
    const writing = ["write", "remove"].map((name) => [name, this.wrap(`environment.${name}`, good[name], ways)]);
    const initialize = this.random.chance(0.3) && { initialize: this.wrap("environment.initialize", () => {}) };
    const exec = this.random.chance(0.3) && {
      exec: this.wrap("environment.exec", () => ({ exitCode: 0, stdout: "ok\n" })),
    };
    return { ...Object.fromEntries([...wrapped, ...writing]), ...initialize, ...exec };
  }

  store() {
    const good = memoryStore();
    const names = ["append", "load", "names", "remove"];
    return Object.fromEntries(names.map((name) => [name, this.wrap(`store.${name}`, good[name])]));
  }

  /** A good HTTP response. */
  answer() {
    const body = sse(answerEvents("Hello."));
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  }

  /** A model of three rounds, whose function and iterator misbehave. */
  provider() {
    const { random } = this;
    let rounds = 0;
    const calls = [
      ["read_file", { file_path: "notes.md" }],
      ["edit_file", { file_path: "notes.md", old_string: "cents", new_string: "pence" }],
      ["write_file", { file_path: "new/file.txt", content: "x\ud800y\n" }],
      ["grep", { pattern: "Price" }],
      ["glob", { pattern: "**/*.js" }],
      ["list_dir", { path: "." }],
      ["shell", { command: "cat notes.md" }],
      ["web_fetch", { url: "https://example.com/" }],
      ["spawn_agent", { task: "look around" }],
      ["odd", { text: "hi" }],
      ["no_such_tool", {}],
    ];
    const events = () => {
      rounds += 1;
      const deltas = ["Hel", "lo \ud83d", "\ude00"].map((delta) => ({ type: "text_delta", delta }));
      const asked = Array.from({ length: 1 + random.below(3) }, () => random.pick(calls));
      const made = asked.map(([name, args]) => ({ type: "tool_call", name, arguments: args }));
      return [...deltas, ...(rounds > 3 ? [] : made), { type: "finish" }];
    };
    const stream = this.wrap("provider.stream", () => {
      const ahead = events();
      const next = this.wrap("provider.next", () => {
        const value = ahead.shift();
        return Promise.resolve({ done: value === undefined, value });
      });
      const end = this.wrap("provider.return", () => ({ done: true }));
      return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
    });
    return { provider: { name: "hostile", stream, idleTimeoutMs: 60_000 }, model: "m" };
  }
}
