/** The bundled sample project, with which the app starts. */
import type { Project } from "./folder.js";

const CONTENTS = import.meta.glob<string>("../sample/**/*", { query: "?raw", import: "default", eager: true });
const PREFIX = "../sample/";

export function sampleProject(): Project {
  const entries = Object.entries(CONTENTS).map(([path, text]) => [path.slice(PREFIX.length), text] as const);
  return { name: "seed-library", files: Object.fromEntries(entries), directory: null, skipped: [], sample: true };
}
