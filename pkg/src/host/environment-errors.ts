/** Maps the exceptions of a host's environment to error codes of the core. */

import { fieldOf, messageOf } from "../exceptions.js";
import { toJson } from "../texts.js";

/** An error code of the core, and the reason if the code of the exception implies it. */
interface Meaning {
  code: "not_found" | "invalid_argument" | "permission_denied" | "limit_reached" | "stale" | "io_error";
  reason?: string;
}

const GONE: Meaning = { code: "not_found" };
const FORBIDDEN: Meaning = { code: "permission_denied" };
const FULL: Meaning = { code: "limit_reached" };
const INVALID: Meaning = { code: "invalid_argument" };
const STALE: Meaning = { code: "stale" };
const IS_DIRECTORY: Meaning = { ...INVALID, reason: "it is a directory" };
const NOT_DIRECTORY: Meaning = { ...INVALID, reason: "it is not a directory" };
const BLOCKED: Meaning = { ...INVALID, reason: "a parent directory of the path is a file" };

/** Error codes by the codes of Node and VS Code, the names of DOM exceptions, and the core's own codes. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ...named(GONE, "ENOENT", "NotFoundError", "FileNotFound", "not_found"),
  ...named(FORBIDDEN, "EACCES", "EPERM", "EROFS", "EBUSY", "ETXTBSY", "NotAllowedError", "SecurityError"),
  ...named(FORBIDDEN, "NoModificationAllowedError", "NotReadableError", "NoPermissions", "permission_denied"),
  ...named(FULL, "ENOSPC", "EDQUOT", "EFBIG", "ERR_FS_FILE_TOO_LARGE", "QuotaExceededError", "limit_reached"),
  ...named(STALE, "stale"),
  ...named(IS_DIRECTORY, "EISDIR", "FileIsADirectory"),
  ...named({ ...INVALID, reason: "it exists already" }, "EEXIST", "FileExists", "already_exists"),
  ...named({ ...INVALID, reason: "too many symbolic links" }, "ELOOP"),
  ...named(INVALID, "EINVAL", "ENAMETOOLONG", "EILSEQ", "ENOTEMPTY", "InvalidModificationError", "invalid_argument"),
]);

function named(meaning: Meaning, ...names: string[]): [string, Meaning][] {
  return names.map((name) => [name, meaning]);
}

/** Returns the error code for an exception of `operation`. */
export function codeOf(thrown: unknown, operation: string): Meaning {
  const [code, name] = [fieldOf(thrown, "code"), fieldOf(thrown, "name")];
  const listing = operation === "list" || operation === "walk";
  if (code === "ENOTDIR" || code === "FileNotADirectory") {
    if (listing) return NOT_DIRECTORY;
    return operation === "write" ? BLOCKED : GONE;
  }
  if (name === "TypeMismatchError") return listing ? NOT_DIRECTORY : IS_DIRECTORY;
  return MEANINGS.get(code as string) ?? MEANINGS.get(name as string) ?? { code: "io_error" };
}

/** The methods behind operations of other names. */
const METHODS: Readonly<Record<string, string>> = { contents: "read", rules: "read", walk: "list" };

/** Encodes an exception as JSON for the core. */
export function exceptionJson(thrown: unknown, operation: string, path: string): string {
  const { code, reason } = codeOf(thrown, operation);
  const message = reason ?? messageOf(thrown);
  const isNamed = reason !== undefined || path !== "" || NAMED.has(thrown as object) || message.startsWith("`");
  const method = METHODS[operation] ?? operation;
  return toJson({ code, message: isNamed ? message : `\`${method}\` failed: ${message}` }) as string;
}

/** Errors whose message names a file. The host's exceptions are looked up here: `instanceof` would run their code. */
const NAMED = new WeakSet<object>();

/** Returns the error for a failed read of one of several files. */
export function namedError(path: string, thrown: unknown): Error {
  const error = new Error(`${path}: ${messageOf(thrown)}`, { cause: thrown });
  NAMED.add(error);
  return error;
}
