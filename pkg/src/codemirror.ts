/** The public names of `emend/codemirror`: a file of an agent in a CodeMirror 6 editor. */

export { hunkKeymap, keepHunk, nextHunk, previousHunk, rejectHunk } from "./codemirror/commands.js";
export { bindingOf } from "./codemirror/connection.js";
export { type EmendFileOptions, emendFile, fromAgent } from "./codemirror/extension.js";
export { type PlacedHunk, placedHunks } from "./codemirror/hunks.js";
