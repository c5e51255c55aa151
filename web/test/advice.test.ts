// Each failure that the page knows has one remedy at most: the one that helps.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { type Advice, advise } from "../src/advice.js";

/** The remedies of all codes: those of the package and the server (docs/errors.md), and those of the page itself. */
const REMEDIES: Readonly<Record<string, Advice["remedy"]>> = {
  // The model's provider.
  network: "retry",
  timeout: "retry",
  stream: "retry",
  provider: "retry",
  authentication: "settings",
  configuration: "settings",
  context_length: "conversation",
  // Limits of a task.
  budget: "continue",
  turn_limit: "continue",
  limit: "continue",
  // The page and its server.
  server_unreachable: "retry",
  load_failed: "retry",
  internal: "reload",
  retry: null,
  fallback: null,
  unexpected: null,
  closed: null,
  unheard_of: null,
  toString: null,
  // Refusals of an action of the user. Their messages say why, and the same action has the same result.
  not_found: null,
  method_not_allowed: null,
  invalid_argument: null,
  permission_denied: null,
  io_error: null,
  already_exists: null,
  ambiguous: null,
  conflict: null,
  stale: null,
  busy: null,
  unsupported: null,
  unknown_tool: null,
  limit_reached: null,
  resync_required: null,
  LOCK_NOT_AVAILABLE: null,
  LOCK_NOT_OWNED: null,
  LEASE_EXPIRED: null,
  STALE_EPOCH: null,
  PATCH_REJECTED: null,
  aborted: null,
};

/** The remedies of the kinds of a provider's failure. */
const OF_PROVIDER: Readonly<Record<string, Advice["remedy"]>> = {
  model_not_found: "settings",
  invalid_request: "settings",
  quota_exceeded: "settings",
  rate_limit: "retry",
  server: "retry",
  content_filter: null,
  unheard_of: "retry",
};

const failed = (code: string, more: object = {}) => advise({ code, message: "It failed.", suggestions: [], ...more });

test("each code has the remedy that helps", () => {
  for (const [code, remedy] of Object.entries(REMEDIES)) assert.equal(failed(code).remedy, remedy, code);
  for (const [kind, remedy] of Object.entries(OF_PROVIDER)) {
    assert.equal(failed("provider", { data: { kind } }).remedy, remedy, kind);
  }
  assert.equal(failed("limit_reached", { data: { limit: "tokens" } }).remedy, "limits");
});

test("the table has every code of docs/errors.md", () => {
  const page = readFileSync("../docs/errors.md", "utf8");
  const codes = page.slice(page.indexOf("## Codes"), page.indexOf("## Exit")).matchAll(/^\| `(\w+)` \|/gm);
  const missing = [...codes].map(([, code]) => code ?? "").filter((code) => !Object.hasOwn(REMEDIES, code));
  assert.deepEqual(missing, []);
});

test("the time that a provider asks to wait is a number and a sentence", () => {
  const check = (message: string, waitMs: number | null, step: string | undefined) => {
    const advice = advise({ code: "provider", message, suggestions: [], data: { kind: "rate_limit" } });
    assert.equal(advice.waitMs, waitMs);
    assert.equal(advice.steps.at(-1), step);
  };
  // The button counts a short wait; a long one is named.
  check("Too many requests. It says: slow down. The provider asks to wait 20 s.", 20_000, "It says: slow down.");
  check("Too many requests. The provider asks to wait 120 s.", 120_000, undefined);
  check("Too many requests. The provider asks to wait 3600 s.", null, "Try again in 60 minutes.");
  check("Too many requests.", null, undefined);
});

test("an exception of a model in JavaScript is named", () => {
  const advice = advise({ code: "provider", message: "script failed: no memory", suggestions: [] });
  assert.match(advice.title, /no memory/);
  assert.equal(advice.remedy, "settings");
});
