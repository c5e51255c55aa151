/** The limits of what the page reads of a project, the folders that are left out, and the encoding of texts. */

/** Folders that are not read: version control, dependencies, build output. */
export const SKIPPED_FOLDERS = new Set([
  ".git",
  ".hg",
  ".svn",
  "node_modules",
  "target",
  ".venv",
  "__pycache__",
  ".next",
]);
export const FILE_BYTES_MAX = 2 * 1024 * 1024;
export const FILES_MAX = 5_000;
export const TOTAL_BYTES_MAX = 64 * 1024 * 1024;

/** Decodes UTF-8 and keeps a byte order mark. Returns null if the bytes are not UTF-8 text. */
export function decode(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8_000).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
