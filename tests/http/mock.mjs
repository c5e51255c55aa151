// Starts aimock, a third-party mock of the model providers, with the answers that the tests expect. As a program it prints
// its URL, and ends when its standard input is closed, so that no server outlives its test.
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";

/** The only key that the mock accepts. */
export const KEY = "mock-key-0123456789";

/** Answers to the prompts below. The tests in native/ and page/ expect the same. */
export const TEXT = "Hello there – é, 漢字 and 🦀 come through whole.";
export const REASONING = "First I look at the question, then I answer it.";
export const CITIES = ["San Francisco", "New York"];
export const LONG = "line of a long file\n".repeat(1500);

const call = (id, name, input) => ({ id, name, arguments: JSON.stringify(input) });

/** The answers, by a text in the last user message. */
function script(mock) {
  mock.onMessage("say hello", { content: TEXT });
  mock.onMessage("think first", { content: TEXT, reasoning: REASONING });
  mock.on(
    { userMessage: "weather in two cities", hasToolResult: false },
    {
      content: "Let me look.",
      toolCalls: CITIES.map((city, index) => call(`call_${index}`, "get_weather", { city })),
    },
  );
  mock.on(
    { userMessage: "weather in two cities", hasToolResult: true },
    { content: "It is 18 °C in San Francisco and 7 °C in New York." },
  );
  mock.onMessage("write a long file", { toolCalls: [call("call_w", "write_file", { path: "a", content: LONG })] });
  mock.onMessage("go on for ever", { content: TEXT.repeat(2000) }, { latency: 20 });
  mock.onMessage("too fast", {
    status: 429,
    retryAfter: 3,
    error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" },
  });
  mock.onMessage("too long", {
    status: 400,
    error: { message: "prompt is too long: 9 tokens > 8 maximum", type: "invalid_request_error" },
  });
  mock.onMessage("overloaded", { status: 529, error: { message: "Overloaded", type: "overloaded_error" } });
}

/** The answers of a good model to `cargo xtask smoke`. */
function smokeScript(mock) {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 3,
    input_tokens: 9,
    output_tokens: 3,
    promptTokenCount: 9,
    candidatesTokenCount: 3,
  };
  const turn = (userMessage, toolCalls, content) => {
    mock.on({ userMessage, hasToolResult: false }, { toolCalls });
    mock.on({ userMessage, hasToolResult: true }, { content });
  };
  mock.on(
    { model: "nonexistent-model-xyz" },
    { status: 404, error: { message: "The model does not exist", type: "not_found_error", code: "model_not_found" } },
  );
  mock.onMessage("Say hello in one sentence.", { content: "Hello!", usage });
  mock.onMessage("Write a haiku.", { content: "An old silent pond" });
  turn(
    "What is the weather in San Francisco and New York?",
    CITIES.map((city, index) => call(`call_${index}`, "get_weather", { city })),
    "Sunny in San Francisco, sunny in New York.",
  );
  mock.onMessage("What do you see?", { content: "A red square." });
  mock.onMessage("Extract: Alice is 30 years old", { content: '{"name": "Alice", "age": 30}' });
  const file_path = "hello.py";
  const hello = "print('Hello World')\n";
  turn("Create a file called hello.py", [call("call_c", "write_file", { file_path, content: hello })], "Done.");
  turn(
    "Read hello.py and add",
    [
      call("call_r", "read_file", { file_path }),
      call("call_e", "edit_file", { file_path, old_string: hello, new_string: `${hello}print('Goodbye')\n` }),
    ],
    "Done.",
  );
  turn(
    "Actually, just create a single /health endpoint",
    [call("call_h", "write_file", { file_path: "app.py", content: "# only /health\n" })],
    "There is one /health endpoint now.",
  );
  turn("Create a Flask web application", [call("call_f", "list_dir", { path: "." })], "Done.");
  turn("Run hello.py and show the output", [call("call_x", "shell", { command: "cat hello.py" })], "It says hello.");
  turn("Run 'sleep 30'", [call("call_s", "shell", { command: "sleep 30", timeout_ms: 200 })], "It took too long.");
  turn(
    "Spawn a subagent",
    [call("call_p", "spawn_agent", { task: "Add test_hello.py." }), call("call_q", "wait", { agent_id: "agent_1" })],
    "It added a test.",
  );
  turn(
    "Add test_hello.py.",
    [call("call_t", "write_file", { file_path: "test_hello.py", content: "import hello\n" })],
    "Added.",
  );
  turn("Read big.txt", [call("call_b", "read_file", { file_path: "big.txt" })], "It is full of x.");
}

/**
 * The answers to sessions that a test scripts, as JSON in an environment variable: for each session the prompt, and the answer
 * of each round. The round is the number of assistant messages so far.
 */
function sessionScripts(mock, sessions) {
  const has = (request, prompt) =>
    request.messages.some(({ role, content }) => role === "user" && JSON.stringify(content).includes(prompt));
  const rounds = ({ messages }) =>
    messages.filter(({ role }, index) => role === "assistant" && messages[index - 1]?.role !== "assistant").length;
  for (const { prompt, answers } of sessions) {
    const quoted = JSON.stringify(prompt).slice(1, -1);
    answers.forEach((answer, round) =>
      mock.on({ predicate: (request) => rounds(request) === round && has(request, quoted) }, answer),
    );
  }
}

/** Starts the server on a free port of 127.0.0.1. It accepts requests from any origin. */
export async function start() {
  const mock = new LLMock({ host: "127.0.0.1", port: 0, chunkSize: 7, strict: true, auth: { apiKeys: [KEY] } });
  script(mock);
  smokeScript(mock);
  sessionScripts(mock, JSON.parse(process.env.EMEND_SESSIONS ?? "[]"));
  await mock.start();
  return { url: mock.url, stop: () => mock.stop() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, stop } = await start();
  console.log(url);
  process.stdin.resume();
  process.stdin.on("end", () => stop().then(() => process.exit(0)));
}
