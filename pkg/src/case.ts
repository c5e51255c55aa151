/**
 * Renames object keys between JavaScript's camelCase and the core's snake_case: by a table of names, or at any depth.
 *
 * Data of the core that may hold values of the user, such as arguments of tools, is renamed by a table only.
 */

/**
 * The names of a kind of object that change, and the fields with objects, or arrays of objects, whose names change.
 * Fields that are not in the table keep their names and values.
 */
export interface Names {
  /** `0`: only the name changes. */
  readonly [name: string]: Names | 0;
}

/** Returns a copy of `value` in which the names of a table are in camelCase. */
export function toCamel<T>(value: unknown, names: Names): T {
  return renameFields(value, names, true) as T;
}

/** Returns a copy of `value` in which the names of a table, in camelCase, are those of the core. */
export function toSnake(value: unknown, names: Names): unknown {
  return renameFields(value, names, false);
}

/** The names of tables and their names in camelCase, because a stream has thousands of events. */
const CAMEL = new Map<string, string>();

function camelOfTable(name: string): string {
  const known = CAMEL.get(name) ?? camelName(name);
  CAMEL.set(name, known);
  return known;
}

function renameFields(value: unknown, names: Names, isCore: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => renameFields(item, names, isCore));
  if (typeof value !== "object" || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return renameFields(toJSON.call(value), names, isCore);
  const out: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const known = isCore ? name : snakeName(name);
    const item = (value as Record<string, unknown>)[name];
    const inner = Object.hasOwn(names, known) ? names[known] : undefined;
    if (inner === undefined) out[name] = item;
    else out[isCore ? camelOfTable(name) : known] = inner === 0 ? item : renameFields(item, inner, isCore);
  }
  return out;
}

/** Returns a copy of `value` with camelCase keys: `old_start` becomes `oldStart`. */
export function camelKeys<T>(value: unknown): T {
  return renameKeys(value, camelName) as T;
}

/** Returns a name in camelCase. */
export function camelName(name: string): string {
  return name.includes("_") ? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : name;
}

/** Returns a copy of `value` with snake_case keys: `oldStart` becomes `old_start`. */
export function snakeKeys(value: unknown): unknown {
  return renameKeys(value, snakeName);
}

function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function renameKeys(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename));
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) out[rename(name)] = renameKeys(item, rename);
  return out;
}
