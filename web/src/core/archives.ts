/** Archives of files, in and out. */
import { fromZip } from "emend";
import { decode, FILE_BYTES_MAX, FILES_MAX, SKIPPED_FOLDERS, TOTAL_BYTES_MAX } from "../limits.js";
import type { Contents } from "./protocol.js";

export { toZip } from "emend";

/** Unpacks an archive. If all files are in one folder, as in downloads of repositories, that folder is left out. */
export async function unzip(archive: Blob): Promise<{ files: Contents; skipped: readonly string[] }> {
  const skippedFolders = new Set<string>();
  const filter = (path: string): boolean => {
    const skipped = path.split("/").find((name) => SKIPPED_FOLDERS.has(name));
    if (skipped !== undefined) skippedFolders.add(`${skipped}/`);
    return skipped === undefined && !path.startsWith("__MACOSX/");
  };
  const unpacked = await fromZip(archive, { filter, maxBytes: 4 * TOTAL_BYTES_MAX, maxFiles: 10 * FILES_MAX });
  const paths = Object.keys(unpacked).filter((path) => !path.endsWith("/"));
  const root = commonFolder(paths);
  const files: Contents = Object.create(null);
  let [large, total, taken] = [0, 0, 0];
  for (const path of paths) {
    const bytes = unpacked[path] as Uint8Array;
    total += bytes.length;
    if (taken >= FILES_MAX || total > TOTAL_BYTES_MAX) break;
    if (bytes.length > FILE_BYTES_MAX) large += 1;
    else {
      files[path.slice(root.length)] = decode(bytes) ?? bytes;
      taken += 1;
    }
  }
  const skipped = [...skippedFolders];
  if (large > 0) skipped.push(large === 1 ? "1 file over 2 MB" : `${large} files over 2 MB`);
  if (taken + large < paths.length) skipped.push("all files beyond 5,000 files or 64 MB");
  return { files, skipped };
}

/** Returns the folder that all paths share, with its slash, or "". */
function commonFolder(paths: readonly string[]): string {
  const [first = ""] = paths;
  const folder = first.slice(0, first.indexOf("/") + 1);
  return folder !== "" && paths.every((path) => path.startsWith(folder)) ? folder : "";
}
