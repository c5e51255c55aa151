// The limits of `cargo xtask bench web`: counts, and ratios of figures of one run. A figure in units is processor time beside that of
// a loop in the same page; one unit is about 1 ms on a computer that does nothing else.
import { APP_BYTES_MAX, START_BYTES_MAX } from "./bytes.mjs";

/**
 * Each limit with its figure. Those with `alone` hold only on a computer that does nothing else at the same time. Those with `fault`
 * are exceeded by the faults that `bench.mjs --faults` plants.
 */
export const GATES = [
  { figure: "page: start view after brotli", most: START_BYTES_MAX },
  { figure: "page: app without wasm and languages after brotli", most: APP_BYTES_MAX },
  { figure: "page: requests until the start view can be used", most: 20, fault: true },
  { figure: "page: main thread until the start view can be used", most: 150, fault: true },
  { figure: "page: longest task during 2,000 edits", most: 100, fault: true },
  // The threads of the page together: its worker alone takes more than Node, and works beside the main thread.
  { figure: "page: processor time of 2,000 edits beside Node's", most: 4.5 },
  { figure: "page: 2,000 edits beside Node", most: 1.5, alone: true },
  { figure: "page: messages of the worker for an edit", most: 1 },
  // Each request has all messages before it, so the later edits take somewhat longer.
  { figure: "Node: last quarter of 200 edits beside the first", most: 2.5, fault: true },
  { figure: "Node: 200 edits of 10,000 lines beside 1,000 lines", most: 4, fault: true },
  // A frame has 16 ms. The slowest keys of a busy computer meet other work of the page.
  { figure: "page: key to frame in a small file, main thread, p50", most: 16 },
  { figure: "page: key to frame in a small file, main thread, p95", most: 35, fault: true },
  { figure: "page: key to frame with 200 changes, main thread, p50", most: 16 },
  { figure: "page: key to frame with 200 changes, main thread, p95", most: 35, fault: true },
  { figure: "page: key to frame while the assistant edits, main thread, p50", most: 20 },
  { figure: "page: key to frame while the assistant edits, main thread, p95", most: 35, fault: true },
  { figure: "page: edits that the assistant still had to do after the keys", least: 1 },
  { figure: "page: key to frame with 200 changes beside a small file", most: 2.5, alone: true },
  { figure: "page: frame while scrolling 10,000 changes, main thread, p50", most: 16 },
  { figure: "page: frame while scrolling 10,000 changes, main thread, p95", most: 35, fault: true },
  { figure: "page: elements while scrolling 10,000 changes", most: 12_000, fault: true },
  { figure: "Node: init beside the bare module", most: 2, fault: true },
  { figure: "Node: 10 MB of events beside JSON.parse", most: 4, fault: true },
];

/** Judges the figures, a map by name. Returns one line per gate; a figure that was not measured fails. */
export function judge(figures, gates = GATES) {
  return gates.map(({ figure, most, least }) => {
    const value = figures.get(figure);
    const limit = most === undefined ? `at least ${least}` : `at most ${most}`;
    const isMet = most === undefined ? value >= least : value <= most;
    return { isMet, text: `${figure}: ${value === undefined ? "not measured" : rounded(value)}, ${limit}` };
  });
}

function rounded(value) {
  return Number.isInteger(value) ? value : Number(value.toPrecision(3));
}
