import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const CSS = readFileSync(new URL("../../src/styles/base.css", import.meta.url), "utf8");

/** Returns a colour of the page in the light and in the dark theme. */
function colour(name: string): readonly [light: string, dark: string] {
  const found = CSS.match(new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`));
  assert.ok(found?.[1] && found[2], name);
  return [found[1], found[2]];
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio of WCAG 2. */
function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const SYNTAX = ["keyword", "string", "number", "comment", "function", "type", "property", "heading"];

test("text on the backgrounds of changes and matches has the contrast of WCAG AA", () => {
  const texts = ["text", ...SYNTAX.map((name) => `syn-${name}`)];
  const backgrounds = ["added", "added-strong", "removed", "removed-strong", "selection", "match"];
  const pairs = backgrounds.flatMap((background) => texts.map((text) => [text, background] as const));
  const low = [...pairs, ["pending", "pending-soft"] as const].flatMap(([text, background]) =>
    (["light", "dark"] as const).flatMap((theme, at) => {
      const ratio = contrast(colour(text)[at] ?? "", colour(background)[at] ?? "");
      return ratio < 4.5 ? [`${theme}: ${text} on ${background} ${ratio.toFixed(2)}`] : [];
    }),
  );
  assert.deepEqual(low, []);
});
