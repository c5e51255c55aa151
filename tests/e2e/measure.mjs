// Measures of a page that hardly depend on what else the computer does: processor time instead of time, in units of a loop that
// runs in the same page.

/** Rounds of the loop that take about 1 ms of processor time on the computer that the limits were written on. */
const ROUNDS_OF_UNIT = 43_000;
const UNITS_MEASURED = 100;

export function percentile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** The processor time of a page, in milliseconds. */
export class Clock {
  #cdp;

  static async of(page) {
    const clock = new Clock();
    clock.#cdp = await page.context().newCDPSession(page);
    await clock.#cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    return clock;
  }

  /** Returns the time of the main thread, and of the whole process with its workers. */
  async read() {
    const { metrics } = await this.#cdp.send("Performance.getMetrics");
    const ms = (wanted) => 1_000 * metrics.find(({ name }) => name === wanted).value;
    return { thread: ms("ThreadTime"), process: ms("ProcessTime") };
  }

  /** Returns the processor time of one unit now. */
  async unit(page) {
    const work = (rounds) => {
      for (let n = 0, x = 1; n < rounds; n++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
    };
    await page.evaluate(work, ROUNDS_OF_UNIT);
    const before = await this.read();
    await page.evaluate(work, ROUNDS_OF_UNIT * UNITS_MEASURED);
    return ((await this.read()).thread - before.thread) / UNITS_MEASURED;
  }
}

/**
 * Runs `work` and returns the tasks of the page's main thread meanwhile, and the marks that it set with `performance.mark`. A task
 * has its begin, its end and its processor time in milliseconds.
 */
export async function traced(browser, page, work) {
  await browser.startTracing(page, { categories: ["toplevel", "blink.user_timing"] });
  await page.evaluate(() => performance.mark("traced"));
  let text;
  try {
    await work();
  } finally {
    text = (await browser.stopTracing()).toString();
  }
  return readTrace(JSON.parse(text).traceEvents);
}

/** Takes the tasks and marks of the page out of the events of a trace. */
export function readTrace(events) {
  const own = events.find(({ name }) => name === "traced");
  const mine = events.filter(({ pid, tid }) => pid === own.pid && tid === own.tid);
  const tasks = mine
    .filter(({ name, ph }) => name.endsWith("::RunTask") && ph === "X")
    .map(({ ts, dur = 0, tdur = 0 }) => ({ from: ts / 1_000, to: (ts + dur) / 1_000, cpu: tdur / 1_000 }));
  const marks = mine.filter(({ cat }) => cat === "blink.user_timing").map(({ name, ts }) => ({ name, at: ts / 1_000 }));
  return { tasks, marks: marks.sort((a, b) => a.at - b.at) };
}

/** Returns the processor time of the tasks from each mark `from` to the first mark `to` after it, with those that set them. */
export function cpuBetween({ tasks, marks }, from, to) {
  const ends = marks.filter(({ name }) => name === to).map(({ at }) => at);
  const begins = marks.filter(({ name }) => name === from).map(({ at }) => at);
  return begins.flatMap((begin) => {
    const end = ends.find((at) => at > begin);
    return end === undefined ? [] : [sum(tasks.filter((task) => task.to > begin && task.from < end))];
  });
}

/** Returns the processor time of the tasks between equal marks, one a frame. The task of a mark belongs to the time before it. */
export function cpuPerFrame({ tasks, marks }, name) {
  const frames = marks.filter((mark) => mark.name === name).map(({ at }) => at);
  return frames.slice(1).map((end, at) => sum(tasks.filter((task) => task.from > frames[at] && task.from < end)));
}

function sum(tasks) {
  return tasks.reduce((all, { cpu }) => all + cpu, 0);
}

/**
 * Returns how much longer work takes than on a computer that does nothing else: the p98 of equal pieces of work by the
 * fastest of them.
 */
export function slowness(page) {
  return page.evaluate(async () => {
    const times = [];
    for (let at = 0; at < 150; at++) {
      const begun = performance.now();
      for (let n = 0, x = 1; n < 1_500_000; n++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
      times.push(performance.now() - begun);
      await new Promise((done) => setTimeout(done));
    }
    times.sort((a, b) => a - b);
    return times[147] / times[0];
  });
}
