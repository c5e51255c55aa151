import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_CHAT, reduce } from "../src/chat-state.js";
import { composed, picturesIn } from "../src/context.js";
import type { Op } from "../src/core/journal.js";
import { fitted, pictureType } from "../src/core/pictures.js";
import type { Picture } from "../src/core/protocol.js";
import { Recorder } from "../src/core/recorder.js";
import { type Repeatable, replay } from "../src/core/replay.js";
import type { ShownEvent } from "../src/engine.js";

const picture = (id: string): Picture => {
  return { kind: "picture", id, name: `${id}.png`, mediaType: "image/png", bytes: 1, width: 1, height: 1, thumb: "" };
};

test("the type of a picture is found from its bytes, not from its name", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["\x89PNG\r\n\x1a\n....", "image/png"],
    ["\xff\xd8\xff\xe0", "image/jpeg"],
    ["GIF87a", "image/gif"],
    ["GIF89a", "image/gif"],
    ["GIF88a", null],
    ["RIFF\x01\n\x03\x04WEBPVP8 ", "image/webp"],
    ["RIFF....WAVE", null],
    [" RIFF....WEBP", null],
    ["\x89PNG", null],
    ["<svg xmlns", null],
    ["", null],
  ];
  for (const [text, expected] of cases) {
    assert.equal(pictureType(Uint8Array.from(text, (char) => char.charCodeAt(0))), expected, JSON.stringify(text));
  }
});

test("a picture is scaled down in proportion, and never up", () => {
  assert.deepEqual(fitted(1_000, 500, 320), [320, 160]);
  assert.deepEqual(fitted(500, 1_000, 320), [160, 320]);
  assert.deepEqual(fitted(300, 20, 320), [300, 20]);
  assert.deepEqual(fitted(9_000, 1, 300), [300, 1]);
});

test("the text of a message leaves its pictures out", () => {
  const added = [picture("a"), { kind: "selection", id: 1, path: "a.md", from: 1, to: 1, text: "x" }] as const;
  assert.equal(composed("Why?", added), "Why?\n\nIn a.md, line 1:\n```\nx\n```");
  assert.deepEqual(picturesIn(added), [picture("a")]);
});

test("a message in the conversation has its pictures", () => {
  for (const kind of ["USER_INPUT", "STEERING_INJECTED"]) {
    const event = { cursor: 1, ts: 0, sessionId: "s", kind, data: { content: "Why?" }, pictures: [picture("a")] };
    const [entry] = reduce(EMPTY_CHAT, event as unknown as ShownEvent).entries;
    assert.deepEqual(entry?.kind === "user" && entry.pictures, [picture("a")], kind);
  }
});

test("a repeated run has its pictures, also those that were added during the run before", async () => {
  const seen: string[] = [];
  const core = {
    keepPicture: ({ id }: Picture, data: string) => seen.push(`keep ${id} ${data}`),
    run: async (text: string, pictures: readonly string[]) => seen.push(`run ${text} ${pictures}`),
    split: async (...given: readonly unknown[]) => seen.push(`split ${given}`),
    progress: () => 0,
  } as unknown as Repeatable;
  const ops: readonly Op[] = [
    { op: "picture", picture: picture("a"), data: "AA==", at: 0 },
    { op: "run", text: "one", pictures: ["a"], at: 0 },
    { op: "picture", picture: picture("b"), data: "BB==", at: 0 },
    { op: "end", failed: false, at: 1 },
    { op: "run", text: "two", pictures: ["b", "a"], at: 0 },
    { op: "end", failed: false, at: 1 },
    { op: "run", text: "three", at: 0 },
    { op: "end", failed: false, at: 1 },
    { op: "split", id: "h", line: 3, path: "a.md", at: 0 },
  ];
  await replay(ops, core, new Recorder(() => undefined));
  assert.deepEqual(seen, ["keep a AA==", "run one a", "keep b BB==", "run two b,a", "run three ", "split h,3,a.md"]);
});
