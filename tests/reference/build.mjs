// Makes the reference of the npm package: `node build.mjs PACKAGE OUT` reads the declarations in the folder PACKAGE, which has
// its dependencies beside it, and writes pages to OUT. A warning is an error: a link that leads nowhere, or a type that is
// used and not exported.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import * as typedoc from "typedoc";

const [folder, out] = process.argv.slice(2).map((argument) => resolve(argument));
const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
const entries = Object.values(exports).map(({ types }) => types);
// The declarations of `emend/inline` are those of `emend`, which has them under the better known name.
const documented = entries.filter((types) => types !== undefined && !types.endsWith("/inline.d.ts"));
if (documented.length === 0) throw new Error(`${folder} exports no declarations`);

const app = await typedoc.Application.bootstrap({
  name: "emend",
  entryPoints: documented.map((types) => join(folder, types)),
  readme: join(folder, "README.md"),
  projectDocuments: [join(folder, "GUIDE.md")],
  excludeInternal: true,
  disableSources: true,
  highlightLanguages: ["bash", "html", "javascript", "json", "jsx", "tsx", "typescript"],
  treatWarningsAsErrors: true,
  // The declarations are checked elsewhere; here they are only read.
  skipErrorChecking: true,
  compilerOptions: { module: "nodenext", target: "es2022", lib: ["es2022", "dom", "dom.iterable"] },
});
const project = await app.convert();
if (project === undefined || app.logger.hasWarnings() || app.logger.hasErrors()) process.exit(1);
await app.generateDocs(project, out);
const { version } = createRequire(import.meta.url)("typedoc/package.json");
const { length } = project.getReflectionsByKind(typedoc.ReflectionKind.All);
console.log(`typedoc ${version}: ${documented.length} modules, ${length} names`);
if (app.logger.hasWarnings() || app.logger.hasErrors()) process.exit(1);
