// Each failure that the page knows has one remedy at most, and limits of a task can be continued.

import assert from "node:assert/strict";
import test from "node:test";
import { advise } from "../src/advice.js";

test("failures have the remedy that helps", () => {
  const remedies = {
    network: "retry",
    timeout: "retry",
    authentication: "settings",
    context_length: "conversation",
    budget: "continue",
    turn_limit: "continue",
    limit: "continue",
    internal: "reload",
    unheard_of: null,
    toString: null,
  };
  for (const [code, remedy] of Object.entries(remedies)) {
    assert.equal(advise({ code, message: "It failed.", suggestions: [] }).remedy, remedy, code);
  }
});
