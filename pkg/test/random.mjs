// Seeded random numbers and texts. A failing test prints its seed.

/** A generator of numbers from 0 to 1 (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end) => Math.floor(next() * end);
  return { next, below, pick: (list) => list[below(list.length)], chance: (share) => next() < share };
}

/** Runs `check(random, seed)` for seeds from 0 on, and names the seed that fails. */
export async function forSeeds(count, check) {
  for (let seed = 0; seed < count; seed++) {
    try {
      await check(random(seed), seed);
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
}
