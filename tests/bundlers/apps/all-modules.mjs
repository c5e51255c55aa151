// A worker that uses every module of the package: the core, the offline model and the shell, `emend/edit`, `emend/llm` and
// `emend/service`.

import { Agent } from "emend";
import { load as loadEdit } from "emend/edit";
import { load as loadLlm } from "emend/llm";
import { createService } from "emend/service";

async function outputOfCommand() {
  const agent = await Agent.create({ files: { "notes.md": "colour\n" }, shell: true });
  const ends = [];
  for await (const { kind, data } of agent.run("run cat notes.md")) if (kind === "TOOL_CALL_END") ends.push(data);
  agent.close();
  return JSON.stringify(ends);
}

async function replyOfService() {
  const service = await createService({ files: { "notes.md": "colour\n" } });
  const response = await service.fetch("/api/agent/sessions");
  await service.close();
  return response.status;
}

export default {
  async fetch() {
    const [edit, llm] = await Promise.all([loadEdit(), loadLlm()]);
    return Response.json({
      hunks: edit.diff("a\n", "b\n").length,
      models: llm.models("anthropic").length,
      command: await outputOfCommand(),
      service: await replyOfService(),
    });
  },
};
