/** The definition of the tool `outline` for a model. Tests compare it with the tool of the command line. */

export const DEFINITION = {
  name: "outline",
  description:
    "Shows the definitions of one source file with their lines, e.g. `12-40 fn name`, nested ones indented; or, by `symbol`, where the project defines a name. Knows Rust, JavaScript, TypeScript, Python, Go, C, C++ and Java.",
  parameters: {
    type: "object",
    additionalProperties: false,
    properties: {
      file_path: { type: "string", description: "A source file." },
      symbol: {
        type: "string",
        description:
          "A name or its beginning, e.g. `parse` or `Server.Close`. Case matters only if it has an upper-case letter. Without file_path: searched in the whole project.",
      },
    },
  },
};
