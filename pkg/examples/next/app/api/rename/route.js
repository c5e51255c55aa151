// An agent on the server: POST a JSON object `{ "files": { "notes.md": "…" }, "task": "…" }`, and get the changes as a diff.

import { Agent } from "emend";

export async function POST(request) {
  const { files, task } = await request.json();
  const agent = await Agent.create({ files });
  try {
    const { error } = await agent.run(task, { signal: request.signal }).result;
    if (error !== undefined) return Response.json({ error: error.message }, { status: 502 });
    return Response.json({ diff: await agent.files.diff() });
  } finally {
    agent.close();
  }
}
