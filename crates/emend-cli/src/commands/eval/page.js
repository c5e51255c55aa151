// Runs in the page of `emend eval --backend browser`: sends the recorded messages to an agent of the npm package, and
// posts all that happened. Nothing is scored here: each request is kept, and the judge compares it with its recording.

const post = (path, value) => fetch(path, { method: "POST", body: JSON.stringify(value) });

try {
  const { Agent } = await import("emend");
  const work = await (await fetch("/work")).json();
  for (const { model, edits, tool_calls, task, messages, responses } of work) {
    const attempts = await runTask(Agent, { task, model, edits, messages, responses });
    await post("/run", { model, edits, tool_calls, task: task.id, attempts });
  }
  await post("/end", {});
} catch (error) {
  await post("/failure", `${error?.stack ?? error}`);
}

async function runTask(Agent, { task, model, edits, messages, responses }) {
  const queue = [...responses];
  let requests = [];
  const replayed = async (url, { body }) => {
    requests.push({ url, body: new TextDecoder().decode(body) });
    const response = queue.shift();
    if (!response) throw new TypeError("the recording has no response to this request");
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
  // The judge reads the names of the core. Those inside of arguments belong to the task.
  const ofCore = (record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    );
  const agent = await Agent.create({
    model: { provider: "anthropic", model, apiKey: "none" },
    profile: "none",
    ...(edits !== null && { edits }),
    mode: "direct",
    questions: true,
    files: task.files,
    fetch: replayed,
  });
  const attempts = [];
  let isEdited = false;
  for (const message of messages) {
    requests = [];
    const events = [];
    const started = new Map();
    for await (const event of agent.run(message)) {
      const { kind, data } = event;
      if (kind.endsWith("_DELTA")) continue;
      events.push({ kind, data: { ...ofCore(data), ...(data.usage && { usage: ofCore(data.usage) }) } });
      if (kind === "TOOL_CALL_START") started.set(data.callId, JSON.stringify(data.arguments));
      const edit = task.user_edit;
      if (kind === "TOOL_CALL_END" && edit !== null && !isEdited && started.get(data.callId)?.includes(edit.path)) {
        await agent.files.write(edit.path, edit.text, { base: task.files[edit.path] });
        isEdited = true;
      }
    }
    const saved = Object.entries(await agent.files.export());
    const files = Object.fromEntries(saved.map(([path, bytes]) => [path, new TextDecoder().decode(bytes)]));
    attempts.push({ message, events, files, user_edit_made: isEdited, requests });
  }
  agent.close();
  return attempts;
}
