// Texts to compare: source-like lines, each of them different, and the same with edits spread over it.

/** Draws numbers that are the same in every run. */
export function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * Two texts of `lines` lines that differ in one line of a hundred: a third each replaced, removed and added. The first is
 * the same for every `at`, which says where in each hundred the line is.
 */
export function texts(lines, at = 50, seed = 7) {
  const draw = random(seed);
  const before = Array.from(
    { length: lines },
    (_, index) => `  const value${index} = compute(${draw(1e9)}, "${index}");\n`,
  );
  const after = [];
  before.forEach((line, index) => {
    // Away from one another, so that every shortest diff is this one and outputs can be compared as they are.
    if (index % 100 !== at) return void after.push(line);
    const kind = draw(3);
    if (kind === 0) after.push(`  let changed${index} = ${draw(1e9)};\n`);
    if (kind === 1) after.push(line, `  let added${index} = ${draw(1e9)};\n`);
  });
  return { before: before.join(""), after: after.join("") };
}
