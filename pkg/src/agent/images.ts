/** Images that go to the model with a message. */

import { bytesOf } from "../bytes.js";
import type { AgentHandle } from "../core.js";
import { invalid, requireRecord, requireText } from "../validate.js";
import type { ImageInput } from "./options.js";

/** An image of a caller, checked. */
export interface NamedImage {
  name: string;
  data: Uint8Array;
}

/** Checks the images of a caller. */
export function imagesOf(images: readonly ImageInput[] | undefined): readonly NamedImage[] {
  if (images === undefined) return [];
  if (!Array.isArray(images)) throw invalid("`images` must be an array");
  return images.map((image: unknown, index) => {
    const what = `\`images[${index}]\``;
    const { mediaType, data, name, ...others } = requireRecord(what, image);
    for (const other of Object.keys(others)) throw invalid(`${what} has the unknown property ${JSON.stringify(other)}`);
    if (mediaType !== undefined) requireText(`\`mediaType\` of ${what}`, mediaType);
    const bytes = bytesOf(data);
    if (bytes === undefined) throw invalid(`\`data\` of ${what} must be a Uint8Array`);
    const given = name === undefined ? "" : requireText(`\`name\` of ${what}`, name);
    return { name: given === "" ? `image ${index + 1}` : given, data: bytes };
  });
}

/** Attaches images to the next message. The core throws if the model does not take one of them; it then has none. */
export function attach(handle: AgentHandle, images: readonly NamedImage[]): void {
  for (const { name, data } of images) handle.attachImage(name, data);
}
