// Texts to compare: distinct source-like lines, and the same lines with edits spread over them.

/** Returns a seeded random number generator. */
export function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * Returns two texts of `lines` lines that differ in one line of a hundred: a third each replaced, removed and added. `at`
 * is the position of this line in each hundred. The first text is the same for every `at`.
 */
export function texts(lines, at = 50, seed = 7) {
  const draw = random(seed);
  const before = Array.from(
    { length: lines },
    (_, index) => `  const value${index} = compute(${draw(1e9)}, "${index}");\n`,
  );
  const after = [];
  before.forEach((line, index) => {
    // The edits are far apart, so that there is one shortest diff and outputs can be compared directly.
    if (index % 100 !== at) return void after.push(line);
    const kind = draw(3);
    if (kind === 0) after.push(`  let changed${index} = ${draw(1e9)};\n`);
    if (kind === 1) after.push(line, `  let added${index} = ${draw(1e9)};\n`);
  });
  return { before: before.join(""), after: after.join("") };
}
