/** Reads a file of an engine for the page. */
import { type Files, isEmendError } from "emend";
import type { Reading } from "./protocol.js";

/** Returns the text of a file, or why it has none to show. */
export async function readingOf(files: Files, path: string): Promise<Reading> {
  try {
    const state = await files.read(path);
    return state ? { text: state.text } : { problem: "", code: "not_found" };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { problem, code: isEmendError(error) ? error.code : "unexpected" };
  }
}
