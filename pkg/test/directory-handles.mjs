// Directory handles in memory, with the exceptions of the File System Standard.

const thrown = (name) => Object.assign(new Error(name), { name });

/** Returns a directory handle. `log` gets the names of the calls that change something. */
export function directoryHandle(name = "root", log = []) {
  const entries = new Map();
  const take = (below, kind, create, make) => {
    if (below === "" || below === "." || below === ".." || below.includes("/"))
      throw new TypeError("Name is not allowed.");
    const found = entries.get(below);
    if (found !== undefined && found.kind !== kind) throw thrown("TypeMismatchError");
    if (found !== undefined) return found;
    if (!create) throw thrown("NotFoundError");
    log.push(`create ${below}`);
    entries.set(below, make());
    return entries.get(below);
  };
  return {
    kind: "directory",
    name,
    log,
    async *entries() {
      yield* entries;
    },
    getDirectoryHandle: async (below, { create = false } = {}) =>
      take(below, "directory", create, () => directoryHandle(below, log)),
    getFileHandle: async (below, { create = false } = {}) => take(below, "file", create, () => fileHandle(below, log)),
    async removeEntry(below) {
      if (!entries.delete(below)) throw thrown("NotFoundError");
      log.push(`remove ${below}`);
    },
  };
}

function fileHandle(name, log) {
  let bytes = new Uint8Array();
  return {
    kind: "file",
    name,
    getFile: async () => new File([bytes], name, { lastModified: 1_000 }),
    async createWritable() {
      const parts = [];
      return {
        async write(part) {
          if (String(part) === String(new TextEncoder().encode("too large"))) throw thrown("QuotaExceededError");
          parts.push(part.slice());
        },
        abort: async () => void log.push(`abort ${name}`),
        close: async () => void (bytes = new Uint8Array(await new Blob(parts).arrayBuffer())),
      };
    },
  };
}
