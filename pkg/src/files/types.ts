/** Public types of files that come in from archives and folders, or go out to them. */

/**
 * Bytes that are not in shared memory, so that `Blob`, `Response` and `fetch` take them: `Uint8Array<ArrayBuffer>`, in
 * TypeScript before 5.7 `Uint8Array`.
 */
export type Bytes = ReturnType<Uint8Array["slice"]>;

/** Files by path. An empty entry whose path ends in `/` is a directory. */
export type FilesIn = Readonly<Record<string, string | Uint8Array>>;

/** Limits and filter of an import from an archive or a folder. */
export interface ImportOptions {
  /** Maximum of all files together, unpacked, in bytes. Default 256 MiB. */
  maxBytes?: number | undefined;
  /** Maximum number of files. Default 50,000. */
  maxFiles?: number | undefined;
  /** Returns whether to import a path. Directory paths end in `/`. Default: imports everything. */
  filter?: ((path: string) => boolean) | undefined;
}

/** Options of {@link toZip}. */
export interface ZipOptions {
  /** Compression level from 0 (stored) to 9 (smallest). Default 6. */
  level?: number | undefined;
  /** Modification time of every entry. Default: now. */
  modified?: Date | undefined;
}

/** An object with bytes: a `Blob`, a `File` or a `Response`. */
export interface BlobLike {
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A `FileSystemDirectoryHandle`. */
export interface DirectoryHandle {
  readonly kind: "directory";
  readonly name: string;
}

/** A `File` from an `<input webkitdirectory>`. */
export interface PickedFile extends BlobLike {
  readonly name: string;
  readonly size: number;
  readonly webkitRelativePath: string;
}
