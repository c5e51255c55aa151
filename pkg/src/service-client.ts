/**
 * `emend/service-client`: a typed client of the review service, without wasm. It speaks to `emend serve`, or to a service
 * of `emend/service` in this program.
 */

export * from "./errors.js";
export type * from "./service/bodies.js";
export {
  type CallArguments,
  type ClientOptions,
  createClient,
  type ServiceClient,
  type StreamOptions,
} from "./service/client.js";
export type {
  AttachedEvent,
  RequestOptions,
  ResyncEvent,
  ServiceEvent,
  ServiceReading,
  StateEvent,
} from "./service/types.js";
