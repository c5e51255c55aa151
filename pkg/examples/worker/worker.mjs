// A worker for workerd, e.g. Cloudflare Workers: it takes a text and a task, and answers with the agent's changes as a diff.
//
//     npx wrangler dev
//     curl "http://localhost:8787/?task=rename+colour+to+color+in+notes.md" --data "The colour of the sky."

import { Agent } from "emend";

export default {
  async fetch(request) {
    const task = new URL(request.url).searchParams.get("task");
    if (request.method !== "POST" || task === null) return new Response("POST a text to /?task=…\n", { status: 400 });
    // With another `model`, e.g. { provider: "anthropic", apiKey: env.ANTHROPIC_API_KEY }, the task can be anything.
    const agent = await Agent.create({ files: { "notes.md": await request.text() } });
    try {
      const { error } = await agent.run(task).result;
      if (error !== undefined) return new Response(`${error.message}\n`, { status: 502 });
      return new Response(await agent.files.diff());
    } finally {
      agent.close();
    }
  },
};
