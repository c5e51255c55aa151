// The route of the example of Next for builds with webpack: there, the addresses of the modules are those for browsers, so the
// route names the files.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, init } from "emend";

const file = (name) => readFile(join(process.cwd(), "../../node_modules/emend/dist", name));

export async function POST(request) {
  const { files, task } = await request.json();
  await init({ wasm: file("core_bg.wasm"), regex: file("regex-core_bg.wasm") });
  const model = { provider: "offline", wasm: file("offline-core_bg.wasm") };
  const agent = await Agent.create({ files, model });
  const { error } = await agent.run(task).result;
  const diff = await agent.files.diff();
  agent.close();
  return Response.json({ error: error?.message, diff });
}
