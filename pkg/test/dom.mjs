// A document for libraries that need one, in this process. Import it before them.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><html><body></body></html>", {
  pretendToBeVisual: true,
  url: "http://localhost/",
});
for (const name of [
  "window",
  "Window",
  "document",
  "navigator",
  "Node",
  "Element",
  "HTMLElement",
  "Text",
  "Range",
  "MutationObserver",
  "KeyboardEvent",
  "MouseEvent",
  "Event",
  "CustomEvent",
  "customElements",
  "UIEvent",
  "getComputedStyle",
  "getSelection",
  "requestAnimationFrame",
  "cancelAnimationFrame",
]) {
  Object.defineProperty(globalThis, name, {
    value: name === "window" ? window : window[name],
    configurable: true,
    writable: true,
  });
}
// It lays nothing out.
window.Range.prototype.getClientRects = () => [];
window.Range.prototype.getBoundingClientRect = () => new window.DOMRect();
window.document.elementFromPoint = () => null;
window.document.queryCommandSupported = () => false;
window.matchMedia = () => ({ matches: false, addEventListener() {}, removeEventListener() {} });
globalThis.matchMedia = window.matchMedia;
globalThis.self = globalThis;

export { window };
