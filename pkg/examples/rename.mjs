// A Node script: renames a word in a directory with the offline model, and shows the changes before it writes them.
//
//     node rename.mjs DIRECTORY OLD NEW [--write]

import { Agent } from "emend";
import { fromDirectory, toDirectory } from "emend/node";

const [directory, from, to, write] = process.argv.slice(2);
if (to === undefined) {
  console.error("usage: node rename.mjs DIRECTORY OLD NEW [--write]");
  process.exit(2);
}

const filter = (path) => path !== "node_modules/" && path !== ".git/";
const agent = await Agent.create({ files: await fromDirectory(directory, { filter }) });
// With another `model`, the task can be anything.
const { text, error } = await agent.run(`rename ${from} to ${to}`).result;
if (error !== undefined) throw error;
console.log(await agent.files.diff());
console.log(text);

if (write === "--write") {
  const changed = agent.review().files.map(({ path }) => path);
  await agent.acceptAll();
  const files = await agent.files.export();
  await toDirectory(directory, Object.fromEntries(changed.map((path) => [path, files[path]])));
}
agent.close();
