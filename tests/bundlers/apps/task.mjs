// The task of every program here: the offline model proposes an edit, the program accepts it.

export async function renameColour(Agent, options = {}) {
  const agent = await Agent.create({ files: { "notes.md": "The colour of the sky.\n" }, ...options });
  const { text, error } = await agent.run("rename colour to color in notes.md").result;
  if (error !== undefined) throw error;
  const review = await agent.review();
  const hunks = review.files.flatMap((file) => file.hunks.map((hunk) => `${file.path}: ${hunk.id}`));
  const before = await agent.files.readDisk("notes.md");
  const { text: proposed } = await agent.files.read("notes.md");
  await agent.acceptAll();
  const accepted = await agent.files.readDisk("notes.md");
  agent.close();
  return { text, hunks: hunks.length, before, proposed, accepted };
}
