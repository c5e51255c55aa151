import assert from "node:assert/strict";
import test from "node:test";
import type { Op } from "../src/core/journal.js";
import type { ResponsePart } from "../src/core/recorder.js";
import { Recorder } from "../src/core/recorder.js";
import { type Repeatable, replay, responsesOf } from "../src/core/replay.js";

const part = (of: number, body: string, end: ResponsePart["end"] = "open"): Op => {
  return { op: "part", of, status: 200, type: "", body, end, at: 0 };
};

/** Returns responses as words: `ab` is a complete one, `ab…` one that was cut. */
const words = (ops: readonly Op[]): string =>
  responsesOf(ops)
    .map(({ body, whole }) => (whole ? body : `${body}…`))
    .join(" ");

test("responses are put together from parts, in the order of their beginnings", () => {
  const cases: readonly (readonly [readonly Op[], string])[] = [
    [[], ""],
    [[part(1, ""), part(1, "a"), part(1, "b"), part(1, "", "whole")], "ab"],
    [[part(1, ""), part(1, "a")], "a…"],
    [[part(1, ""), part(1, "a"), part(1, "", "cut")], "a…"],
    [[part(1, ""), part(2, ""), part(2, "b", "whole"), part(1, "a"), part(1, "", "whole")], "a b"],
    // The end of a response of the run before.
    [[part(1, "late"), part(1, "", "cut"), part(2, ""), part(2, "b"), part(2, "", "whole")], "b"],
    [[{ op: "response", status: 200, type: "", body: "old", whole: true, at: 0 }, part(3, "")], "old …"],
  ];
  for (const [ops, expected] of cases) assert.equal(words(ops), expected);
});

test("a repeated response says why the second model gave it, before it is asked for", async () => {
  const ops: readonly Op[] = [
    part(1, ""),
    part(1, "first", "whole"),
    { ...part(2, ""), why: "it is overloaded" } as Op,
    { ...part(2, "sec"), why: "it is overloaded" } as Op,
    { ...part(2, "ond", "whole"), why: "it is overloaded" } as Op,
  ];
  const recorder = new Recorder(() => undefined);
  assert.equal(recorder.next, "");
  recorder.repeat(responsesOf(ops), () => undefined);
  assert.equal(recorder.next, "");
  assert.equal(await (await recorder.fetch("", {})).text(), "first");
  assert.equal(recorder.next, "it is overloaded");
  assert.equal(await (await recorder.fetch("", {})).text(), "second");
  assert.equal(recorder.next, "");
});

/** Replays a run that has an event, then the deltas `a`, `b` and `c`, then another event. Returns where it stopped. */
async function stoppedAfter(ops: readonly Op[]): Promise<string> {
  let seen = "";
  let isStopped = false;
  const core = {
    run: async (_: string, _pictures: readonly string[], reached: (at: number, chars: number) => Promise<void>) => {
      await reached(0, 0);
      for (const [at, chars, text] of [
        [1, 0, "-"],
        [1, 1, "a"],
        [1, 2, "b"],
        [1, 3, "c"],
        [2, 0, "-"],
      ] as const) {
        if (isStopped) return;
        seen += text;
        await reached(at, chars);
      }
    },
    stop: async () => {
      isStopped = true;
    },
    progress: () => 0,
  } as unknown as Repeatable;
  await replay(ops, core, new Recorder(() => undefined));
  return seen;
}

test("a repeated run stops at the same word", async () => {
  const run: Op = { op: "run", text: "", at: 0 };
  const end: Op = { op: "end", failed: false, at: 1 };
  const cases: readonly (readonly [readonly Op[], string])[] = [
    [[run, { op: "stop", at: 1, chars: 2 }, end], "-ab"],
    [[run, { op: "stop", at: 1 }, end], "-"],
    [[run, { op: "stop", at: 1, chars: 9 }, end], "-abc-"],
    // The page was closed.
    [[run, { op: "seen", at: 1, chars: 1 }, { op: "seen", at: 1, chars: 3 }], "-abc"],
    [[run, { op: "seen", at: 1 }], "-"],
    [[run, end], "-abc-"],
  ];
  for (const [ops, expected] of cases) assert.equal(await stoppedAfter(ops), expected);
});
