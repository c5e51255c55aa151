/**
 * What Node does differently from a browser: it reads modules from files, which its `fetch` does not, and pages of the
 * public web alone, for which a browser has CORS.
 */

import { lookup as resolve, type LookupAddress } from "node:dns";
import { readFile } from "node:fs/promises";
import { request as http } from "node:http";
import { request as https } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export async function load(url: URL | string): Promise<Response | ArrayBufferView> {
  const address = new URL(url);
  return address.protocol === "file:" ? readFile(address) : fetch(address);
}

type Resolve = (
  name: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Fetches a page, but connects to addresses on the public internet alone, whatever a name stands for. The check is on the
 * very address that is connected to. Redirects are handed back, so that each hop is checked by whoever follows it.
 */
export function publicFetch(url: string, options: RequestInit, find: Resolve = resolve, allows = isPublic): Promise<Response> {
  return new Promise((done, reject) => {
    const address = new URL(url);
    const refused = (host: string) => new Error(`${host} is not on the public internet`);
    // Numeric hosts are never looked up.
    const host = address.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !allows(host)) throw refused(host);
    const lookup: LookupFunction = (name, { all }, give) =>
      find(name, { all: true }, (error, found) => {
        const open = error ? [] : found.filter((one) => allows(one.address));
        const [first] = open;
        if (error || first === undefined) return give(error ?? refused(name), "", 0);
        return all === true ? give(null, open) : give(null, first.address, first.family);
      });
    const headers = { "accept-encoding": "gzip", ...Object.fromEntries(new Headers(options.headers)) };
    // Without an agent: a connection that is kept may be one that nobody has checked.
    const sending = (address.protocol === "https:" ? https : http)(address, {
      method: options.method ?? "GET",
      headers,
      lookup,
      agent: false,
      ...(options.signal && { signal: options.signal }),
    });
    sending.on("error", reject);
    sending.on("response", (incoming) => {
      try {
        const received = new Headers();
        for (const [name, values] of Object.entries(incoming.headersDistinct)) {
          for (const value of values ?? []) received.append(name, value);
        }
        const status = incoming.statusCode ?? 0;
        const unpack = UNPACK[received.get("content-encoding") ?? ""]?.();
        // Why it broke off is told to whoever reads the body.
        const body = unpack === undefined ? incoming : pipeline(incoming, unpack, () => {});
        const isEmpty = status === 204 || status === 205 || status === 304;
        if (isEmpty) incoming.resume();
        done(new Response(isEmpty ? null : (Readable.toWeb(body) as ReadableStream), { status, headers: received }));
      } catch (error) {
        incoming.destroy();
        reject(error);
      }
    });
    sending.end();
  });
}

const UNPACK: Record<string, (() => Transform) | undefined> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Whether an address is on the public internet, by the same rules as in the core. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return isPublicV4(address.split(".").map(Number));
  let host: string;
  try {
    host = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  } catch {
    // It names an interface of this machine.
    return false;
  }
  const [start = "", end] = host.split("::").map((half) => half.split(":").filter((part) => part !== ""));
  const zeros = Array<string>(end === undefined ? 0 : 8 - start.length - end.length).fill("0");
  const parts = [...start, ...zeros, ...(end ?? [])].map((part) => Number.parseInt(part, 16));
  const v4 = (high = 0, low = 0) => isPublicV4([high >> 8, high & 255, low >> 8, low & 255]);
  const begin = parts.slice(0, 6).join();
  // IPv4 in other clothes: mapped, translated, tunnelled.
  if (begin === "0,0,0,0,0,65535" || begin === `${0x64},${0xff9b},0,0,0,0`) return v4(parts[6], parts[7]);
  const [first = 0, second = 0, third = 0] = parts;
  if (first === 0x2002) return v4(second, third);
  if (first === 0x2001 && (second === 0xdb8 || second === 0)) return false;
  return first >= 0x2000 && first < 0x4000;
}

function isPublicV4([a = 0, b = 0, c = 0]: number[]): boolean {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100) return b < 64 || b > 127;
  if (a === 169) return b !== 254;
  if (a === 172) return b < 16 || b > 31;
  if (a === 192) return !(b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99));
  if (a === 198) return !(b === 18 || b === 19 || (b === 51 && c === 100));
  return !(a === 203 && b === 0 && c === 113);
}
