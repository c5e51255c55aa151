/** The icons of the page: strokes on a 16 by 16 grid, in the colour of the surrounding text. */
const PATHS = {
  accept: "M3.5 8.5l3 3 6-7",
  reject: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  folder: "M2 4.5h4l1.5 2H14v6.5H2z",
  files: "M2.5 4h3l1 1.5h5V8M2.5 4v8.5h9M5 8h9l-2.5 4.5H2.5z",
  add: "M8 3v10M3 8h10",
  save: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  undo: "M6 4L3 7l3 3M3 7h6a4 4 0 010 6H7",
  redo: "M10 4l3 3-3 3M13 7H7a4 4 0 000 6h2",
  up: "M8 13V3M4 7l4-4 4 4",
  find: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3l3.2 3.2",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  stop: "M4.5 4.5h7v7h-7z",
  previous: "M4 10l4-4 4 4",
  next: "M4 6l4 4 4-4",
  sun: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 016.5 3 5.5 5.5 0 1013 9.5z",
  system: "M2 3.5h12v7H2zM5.5 13h5M8 10.5V13",
  keys: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M11.5 7h.01M5 9.5h6",
  warning: "M8 2.5l6 11H2zM8 6.5v3M8 11.5v.01",
  arrow: "M2.5 8h10M9 4.5L12.5 8 9 11.5",
  panel: "M2 3h12v10H2zM6 3v10",
  sparkle: "M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6z",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  edit: "M3 13l.7-3 7-7 2.3 2.3-7 7z",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.7 9h5.6l.7-9",
  archive: "M2.5 3.5h11v3h-11zM3.5 6.5v6.5h9V6.5M6.5 9h3",
  comment: "M2.5 3h11v8h-6l-3 2.5V11h-2z",
  clock: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM8 5v3.2l2 1.3",
  queue: "M3 4h10M3 8h10M3 12h6",
  cut: "M2 8h2M7 8h2M12 8h2M8 2v3M6.5 3.5L8 5l1.5-1.5M8 14v-3M6.5 12.5L8 11l1.5 1.5",
  split: "M2 3h12v10H2zM8 3v10",
  picture: "M2.5 3h11v10h-11zM2.5 11l3.5-4 3 3 2-2 2.5 3M10.5 5.5v.01",
  patch: "M4 2.5h8v11H4zM8 5v3M6.5 6.5h3M6.5 10.5h3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
