// Tools of an agent in a worker give the model what they give it with an agent in the page.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError } from "emend";
import { WorkerAgent } from "emend/worker";
import { results, scripted } from "./support.mjs";

const cyclic = { name: "cycle" };
cyclic.self = cyclic;

class Point {
  #x = 1;
  y = 2;
  get x() {
    return this.#x;
  }
  method() {}
}
class Money {
  constructor(cents) {
    this.cents = cents;
  }
  toJSON(key) {
    return { cents: this.cents, key };
  }
}

const fail = (thrown) => () => {
  throw thrown;
};

/** Results and exceptions of tools. */
const OUTPUTS = {
  text: () => "as it is",
  empty: () => "",
  number: () => 4.5,
  nan: () => ({ n: Number.NaN, i: Infinity }),
  null: () => null,
  undefined: () => undefined,
  nothing_in_it: () => ({ a: undefined, b: [undefined] }),
  boolean: async () => true,
  date: () => ({ at: new Date(0) }),
  wrong_date: () => new Date(Number.NaN),
  to_json: () => [new Money(5), { price: new Money(6) }],
  to_json_of_text: () => ({ toJSON: () => "text" }),
  to_json_fails: () => ({ toJSON: fail(new RangeError("no JSON")) }),
  to_json_of_promise: () => ({ toJSON: async () => 1 }),
  class_instance: () => new Point(),
  getter: () => ({
    get a() {
      return 1;
    },
  }),
  getter_fails: () => ({
    get a() {
      throw new Error("no a");
    },
  }),
  hidden: () => Object.defineProperty({ a: 1 }, "b", { value: 2 }),
  inherited: () => Object.create({ a: 1 }, { b: { value: 2, enumerable: true } }),
  null_prototype: () => Object.assign(Object.create(null), { a: 1 }),
  proto: () => JSON.parse('{"__proto__":1,"constructor":2,"emend:packed":{"type":"function","id":1}}'),
  proxy: () => new Proxy({ a: 1 }, {}),
  symbol_key: () => ({ [Symbol("x")]: 1, a: 2 }),
  boxed: () => [Object("text"), Object(1), Object(false)],
  url: () => ({ url: new URL("https://example.org/x") }),
  error_as_value: () => ({ error: new Error("x") }),
  buffer: () => Buffer.from("bytes"),
  bytes: () => new Uint8Array([1, 2]),
  floats: () => ({ list: new Float64Array([1.5]) }),
  array_buffer: () => new ArrayBuffer(2),
  data_view: () => new DataView(new ArrayBuffer(2)),
  map: () => new Map([[1, 2]]),
  set: () => ({ set: new Set([1]) }),
  regexp: () => /x/,
  blob: () => new Blob(["x"]),
  response: () => new Response("x"),
  headers: () => new Headers({ a: "b" }),
  signal: () => AbortSignal.timeout(1_000_000),
  iterator: () => [1, 2].values(),
  generator: async function* () {
    yield 1;
  },
  function: () => () => {},
  function_in_it: () => ({ a: [() => {}] }),
  symbol: () => ({ s: Symbol("s") }),
  promise_in_it: () => ({ p: Promise.resolve(1) }),
  then_in_it: () => JSON.parse('{"p":{"then":1}}'),
  bigint: () => ({ n: 1n }),
  bare_bigint: () => 2n,
  cyclic: () => cyclic,
  sparse: () => Array(3),
  deep: () => {
    let deep = 0;
    for (let n = 0; n < 3_000; n += 1) deep = [deep];
    return deep;
  },
  surrogate: () => ({ "a\ud800": "b\udc00" }),
  throws: fail(new TypeError("wrong")),
  throws_code: fail(Object.assign(new Error("out of range"), { code: "E_RANGE" })),
  throws_known_code: fail(Object.assign(new Error("gone"), { code: "not_found" })),
  throws_number_code: fail(Object.assign(new Error("http"), { code: 404 })),
  throws_without_message: fail(new RangeError()),
  throws_text: fail("a text"),
  throws_empty: fail(""),
  throws_undefined: fail(undefined),
  throws_object: fail({ message: "an object", code: "X" }),
  throws_getter: fail({
    get message() {
      throw new Error("x");
    },
  }),
  throws_exception: fail(new DOMException("dom", "AbortError")),
  throws_cause: fail(new Error("outer", { cause: cyclic })),
  throws_surrogate: fail(new Error("\ud800")),
  rejects: async () => Promise.reject(new Error("later")),
};

async function resultsOf(kind, tools, calls) {
  const { model, requests } = scripted([calls, "Done."]);
  const agent = await kind.create({ model, tools, approve: () => "allow" });
  try {
    const { reason } = await agent.run("go").result;
    return [reason, results(requests[1]), requests[0].tools];
  } finally {
    agent.close();
  }
}

test("a tool gives the same result in the worker and in the page", async () => {
  const tools = Object.entries(OUTPUTS).map(([name, execute]) => ({
    name,
    description: `Returns ${name}.`,
    parameters: { type: "object" },
    effect: "reads",
    execute,
  }));
  const calls = tools.map(({ name }) => [name, {}]);
  const [inWorker, inPage] = [await resultsOf(WorkerAgent, tools, calls), await resultsOf(Agent, tools, calls)];
  for (const [index, { name }] of tools.entries()) assert.equal(inWorker[1][index], inPage[1][index], name);
  assert.deepEqual(inWorker, inPage);
  // Not all is alike because all fails.
  const of = (name) => inPage[1][Object.keys(OUTPUTS).indexOf(name)];
  assert.equal(of("to_json"), '[{"cents":5,"key":"0"},{"price":{"cents":6,"key":"price"}}]');
  assert.equal(of("class_instance"), '{"y":2}');
  assert.match(of("bytes"), /^error: .*returned a Uint8Array/);
  assert.match(of("bigint"), /^error: .*BigInt/);
  assert.match(of("cyclic"), /^error: .*circular/);
});

test("a tool gets the same arguments, and is described alike", async () => {
  class Tool {
    // Not sent to the worker: a message cannot have it.
    connection = { socket: Symbol("open"), promise: Promise.resolve() };
    calls = [];
    name = "own";
    get description() {
      return "A tool of a class.";
    }
    parameters = { type: "object", properties: { at: { default: new Date(0), enum: [new Money(1)] } } };
    execute(args) {
      this.calls.push(args);
      return args;
    }
  }
  const given = JSON.parse('{"__proto__":{"a":1},"emend:packed":{"type":"url","href":"x"},"list":[null,{"n":1.5}]}');
  const seen = [];
  for (const kind of [WorkerAgent, Agent]) {
    const tool = new Tool();
    seen.push([await resultsOf(kind, [tool], [["own", given]]), tool.calls]);
  }
  assert.deepEqual(seen[0], seen[1]);
  assert.deepEqual(seen[1][1], [given]);
});

test("wrong tools are refused alike", async () => {
  const tool = (more) => ({ name: "t", description: "T.", parameters: { type: "object" }, execute: () => "", ...more });
  const wrong = [
    5,
    [5],
    [tool({ execute: "x" })],
    [tool({ name: 5 })],
    [tool({ name: "with space" })],
    [tool({ name: Symbol("x") })],
    [tool(), tool()],
    [tool({ parameters: 5 })],
    [tool({ parameters: { type: "object", properties: { a: () => {} } } })],
    [tool({ parameters: { type: "object", minProperties: Number.NaN } })],
    [tool({ parameters: cyclic })],
    [tool({ effect: "destroys" })],
    [tool({ pathParameters: "a" })],
  ];
  for (const tools of wrong) {
    const errors = [];
    for (const kind of [WorkerAgent, Agent]) {
      const error = await kind.create({ tools }).then(
        (agent) => (agent.close(), "created"),
        (thrown) => thrown,
      );
      errors.push(isEmendError(error) ? [error.constructor.name, error.code, error.message] : error);
    }
    assert.deepEqual(errors[0], errors[1]);
    assert.notEqual(errors[1], "created");
  }
});
