// Lets Node import modules that import style sheets and fonts, as a bundler does. Import it before them.

import { register } from "node:module";

const hooks = `
export const load = (url, context, next) =>
  /\\.(css|ttf)$/.test(url)
    ? { format: "module", source: "export default ''", shortCircuit: true }
    : next(url, url.includes("/monaco-editor/") ? { ...context, format: "module" } : context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
