// A model that is part of a program: it renames the word in its first response, and ends in the second.

export function scriptedModel() {
  const steps = [
    {
      type: "tool_call",
      name: "edit_file",
      arguments: { file_path: "notes.md", old_string: "colour", new_string: "color" },
    },
    { type: "text_delta", delta: "Renamed colour to color: 1 place in 1 file." },
  ];
  const provider = {
    name: "scripted",
    async *stream() {
      yield steps.shift();
      yield { type: "finish" };
    },
  };
  return { provider, model: "scripted" };
}
