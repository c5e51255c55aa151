/**
 * Reads web pages in Node, from public addresses only.
 *
 * In a file of its own, which is loaded for the first page: Node's modules for HTTP and compression took a seventh of the start.
 */

import { type LookupAddress, lookup as resolve } from "node:dns";
import { request as http } from "node:http";
import { request as https } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

type Resolve = (
  name: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Fetches a web page, and connects only to addresses that `isPublic` accepts. The address that is checked is the one
 * that is connected to, after name resolution. Redirects are returned, so that the caller checks each hop.
 */
export function publicFetch(
  url: string,
  options: RequestInit,
  isPublic: (address: string) => boolean,
  find: Resolve = resolve,
): Promise<Response> {
  return new Promise((done, reject) => {
    const address = new URL(url);
    const refused = (host: string) => new Error(`${host} is not on the public internet`);
    // Numeric hosts are not resolved.
    const host = address.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !isPublic(host)) throw refused(host);
    const lookup: LookupFunction = (name, { all }, give) =>
      find(name, { all: true }, (error, found) => {
        const allowed = error ? [] : found.filter(({ address }) => isPublic(address));
        const [first] = allowed;
        if (error || first === undefined) return give(error ?? refused(name), "", 0);
        return all === true ? give(null, allowed) : give(null, first.address, first.family);
      });
    const headers = { "accept-encoding": "gzip", ...Object.fromEntries(new Headers(options.headers)) };
    // Without an agent: a pooled connection may lead to an unchecked address.
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
        // The reader of the body gets the error.
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
