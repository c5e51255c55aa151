/**
 * The form that a wasm file has in workerd, which compiles the files of a deployed program and forbids a program to compile
 * bytes.
 *
 * The imports are dynamic: a worker that never runs a command does not start the module of the shell.
 */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
