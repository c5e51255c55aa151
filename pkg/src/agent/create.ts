/** The options of an agent as the core takes them: the part of the creation that agents and services share. */

import { publicFetch } from "#platform";
import { callerFetch } from "../caller-fetch.js";
import type { AgentHandle } from "../core.js";
import { ConfigError } from "../errors.js";
import type { FilesIn } from "../files/types.js";
import { approvalCallback } from "../host/approvals.js";
import { CustomTools } from "../host/custom-tools.js";
import type { HostFiles } from "../host/environment.js";
import { shellOf } from "../host/shell.js";
import { StoreLink } from "../sessions/store-link.js";
import type { WasmInstance } from "../wasm/instance.js";
import { Files } from "./files.js";
import type { HandleBridge } from "./handle-bridge.js";
import type { AgentOptions } from "./options.js";
import {
  hostFilesOf,
  initialContents,
  type Protection,
  quotaSettings,
  type SelectedModel,
  type Settings,
  settingsForCore,
} from "./settings.js";

/** A wasm module with the agent: the core, or that of `emend/service`. */
export interface AgentModule {
  glue: {
    AgentHandle: new (options: string, callbacks: object) => AgentHandle;
    isPublicAddress(address: string): boolean;
  };
  loaded(): Promise<WasmInstance>;
}

/** The checked options of an agent. No module is loaded yet. */
export interface Prepared {
  /** The options as the core has them, without functions. */
  settings: Settings;
  tools: CustomTools;
  host: HostFiles | undefined;
  link: StoreLink | undefined;
  /** Sends the requests of models. */
  send: NonNullable<AgentOptions["fetch"]>;
  protection: Protection;
  /** Loads the module and returns it with the function that creates the handle. */
  open(module: AgentModule): Promise<{ wasm: WasmInstance; create: () => AgentHandle }>;
  /** Adds the initial files. */
  fill(bridge: HandleBridge, module: AgentModule): Promise<void>;
}

/** Rejects with an error as the core reads it. */
function notLoaded(): Promise<never> {
  return Promise.reject('{"code":"io_error","message":"the regex engine could not be loaded"}');
}

/** Returns the function that sends requests. */
export function senderOf(options: AgentOptions): NonNullable<AgentOptions["fetch"]> {
  const send = options.fetch ?? globalThis.fetch;
  if (typeof send !== "function") throw new ConfigError("configuration", "`fetch` must be a function");
  return send;
}

/** Checks the options. They have passed `checkedOptions`. */
export async function prepare(options: AgentOptions, selected: SelectedModel): Promise<Prepared> {
  const { files = {}, environment, quota, fetch: given, store, model, tools, approve, shell, ...rest } = options;
  const send = senderOf(options);
  const source = files instanceof Files ? files : undefined;
  const contents = source === undefined ? initialContents(files as FilesIn) : [];
  const host = environment === undefined ? undefined : await hostFilesOf(environment, options);
  const settings = { ...rest, ...quotaSettings(quota), model: selected.settings, tools: CustomTools.describe(tools) };
  const protection = { asks: approve !== undefined, savesTo: rest.mode === "direct" ? host : undefined };
  const json = settingsForCore(settings, protection);
  const link = store === undefined ? undefined : new StoreLink(store);
  const ask = approvalCallback(approve);
  const ownTools = new CustomTools();
  ownTools.set(tools);
  return {
    settings,
    tools: ownTools,
    host,
    link,
    send,
    protection,
    async open(module) {
      const wasm = await module.loaded();
      const isPublic = (address: string): boolean =>
        !wasm.isDead && wasm.call(() => module.glue.isPublicAddress(address));
      const fetchPage = given ?? ((url: string, init: RequestInit) => publicFetch(url, init, isPublic));
      const callbacks = {
        // Model requests carry a key and therefore allow no redirect; all other requests are web pages.
        fetch: callerFetch((url, init) => (init.redirect === "error" ? send : fetchPage)(url, init)),
        openAnswer: selected.open,
        runTool: ownTools.start,
        callStore: link?.call,
        approve: ask,
        loadPattern: (pattern: string, ignoreCase: boolean) =>
          import("../host/patterns.js").then((host) => host.loadPattern(pattern, ignoreCase), notLoaded),
        runCommand: shellOf(wasm, shell),
        environment: host,
      };
      return { wasm, create: () => new module.glue.AgentHandle(json, callbacks) };
    },
    async fill(bridge, module) {
      if (source !== undefined) await adopt(source, bridge, module);
      for (const [path, bytes] of contents) bridge.callJson((handle) => handle.addFile(path, bytes));
    },
  };
}

/** Copies the saved files of another agent. Agents of one module share their contents. */
async function adopt(source: Files, bridge: HandleBridge, module: AgentModule): Promise<void> {
  const other = Files.handleOf(source);
  if (other instanceof module.glue.AgentHandle) {
    bridge.callJson((handle) => handle.adoptFiles(other));
    return;
  }
  for (const [path, bytes] of Object.entries(await source.export())) {
    bridge.callJson((handle) => handle.addFile(path, bytes));
  }
}
