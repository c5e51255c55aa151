// The size of the page. `cargo xtask bench web` has the same limits.
import assert from "node:assert/strict";
import { APP_BYTES_MAX, listed, loadedBytes, START_BYTES_MAX, total } from "../bytes.mjs";

export const tests = {
  async "the page loads few bytes until a file can be edited, and nothing more by itself"({ page, url }) {
    const { start, app } = await loadedBytes(page, url);
    const check = (sizes, most) =>
      assert.ok(total(sizes) <= most, `${total(sizes)} of ${most} bytes:\n${listed(sizes)}`);
    check(start, START_BYTES_MAX);
    check(app, APP_BYTES_MAX);
    assert.ok(start.size >= 3 && app.size > start.size + 1, `not all files are counted:\n${listed(app)}`);
  },
};
