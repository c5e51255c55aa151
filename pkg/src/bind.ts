/** The public names of `emend/bind`: a text buffer of the host and a file of an agent, in step both ways. */

export { type Binding, bindBuffer } from "./bind/binding.js";
export type * from "./bind/types.js";
