// The controls of the page that docs/settings.md names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const PAGE = readFileSync("../docs/settings.md", "utf8");
const DIALOG = readFileSync("src/ui/model-dialog.tsx", "utf8");
const OPTIONS = readFileSync("src/ui/options-dialog.tsx", "utf8");

test("each control in the table of settings is a field of a dialog, and each field of the model is in the table", () => {
  const lines = PAGE.split("\n").filter((line) => line.startsWith("| "));
  const cells = lines.slice(1).map((line) => line.split(" | ")[8]?.replace(/[|\s]+$/, "") ?? "");
  const named = cells.flatMap((cell) => /^`(.*)`$/.exec(cell)?.[1] ?? []);
  const fields = [...DIALOG.matchAll(/<label class="field">\s*<span>\s*([^<{]*)/g)];
  const labels = fields.map(([, label]) => (label ?? "").trim());
  const options = [...OPTIONS.matchAll(/^\s+(?:title|label)="([^"]+)"$/gm)].map(([, label]) => label ?? "");
  assert.equal(options.length, 6);
  // The page has options of its own, such as that for notifications.
  const inTable = options.filter((label) => named.includes(label));
  assert.deepEqual([...new Set(named)].sort(), [...new Set([...labels, ...inTable])].sort());
  assert.equal(inTable.length, 5);
});
