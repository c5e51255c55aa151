/** Renames object keys between JavaScript's camelCase and the core's snake_case, at any depth. */

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
  return renameKeys(value, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

function renameKeys(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename));
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) out[rename(name)] = renameKeys(item, rename);
  return out;
}
