import assert from "node:assert/strict";
import { test } from "node:test";
import { toolMessage } from "../src/advice.js";
import { isKeyOfOther, newReader } from "../src/model-settings.js";
import { DEFAULT_SETTINGS, type Settings, serverOf } from "../src/settings.js";

function settings(provider: Settings["provider"], baseUrl = "", apiKey = ""): Settings {
  return { ...DEFAULT_SETTINGS, provider, baseUrl, apiKey };
}

test("the server is the origin of the base URL, or the provider's usual one", () => {
  const check = (of: Settings, expected: string | null) => assert.equal(serverOf(of), expected);
  check(settings("offline"), null);
  check(settings("anthropic"), "https://api.anthropic.com");
  check(settings("openai", "https://proxy.example/v1"), "https://proxy.example");
  check(settings("openai_compatible", "http://localhost:1234/v1"), "http://localhost:1234");
  check(settings("openai_compatible", "not a URL"), "not a URL");
});

test("a saved key is not used for another server", () => {
  const saved = settings("openai", "https://a.example/v1", "secret");
  const check = (next: Settings, expected: boolean) => assert.equal(isKeyOfOther(saved, next), expected);
  check(saved, false);
  check(settings("openai", "https://a.example/v2", "secret"), false);
  check(settings("openai", "https://b.example/v1", "secret"), true);
  check(settings("openai", "", "secret"), true);
  check(settings("openai", "https://b.example/v1", "other"), false);
  check(settings("openai", "https://b.example/v1", ""), false);
});

test("a server that gets the conversation for the first time is named", () => {
  const check = (from: Settings, to: Settings, expected: string | null) => assert.equal(newReader(from, to), expected);
  check(settings("offline"), settings("anthropic"), "https://api.anthropic.com");
  check(settings("anthropic"), settings("offline"), null);
  check(settings("anthropic"), settings("anthropic"), null);
  check(settings("anthropic"), settings("anthropic", "https://b.example"), "https://b.example");
});

test("a message for the model is replaced by one for the user", () => {
  const failure = { code: "STALE_EPOCH", message: "do not edit it again", suggestions: [] };
  assert.match(toolMessage(failure) ?? "", /^You took this file back/);
  assert.equal(toolMessage({ ...failure, code: "not_found" }), null);
  assert.equal(toolMessage(null), null);
});
