/**
 * The operations of the tab's engine that a server does without, or that have no request. The page has no button for those
 * that fail.
 */
import type { Contents, Picture } from "./protocol.js";

export class Absent {
  async addPicture(): Promise<Picture> {
    throw new Error("a server takes no pictures with a message");
  }

  async setModel(): Promise<void> {
    throw new Error("the model of a server is one of its options");
  }

  async setOptions(): Promise<void> {
    // The server has limits of its own.
  }

  async converse(): Promise<void> {
    // The page enters other sessions as a whole.
  }

  async diff(): Promise<string> {
    throw new Error("the page makes the patch of a server");
  }

  async zip(): Promise<Uint8Array> {
    throw new Error("the files are on the server");
  }

  async zipAll(): Promise<Uint8Array> {
    throw new Error("the files are on the server");
  }

  async exportFiles(): Promise<Contents> {
    throw new Error("the files are on the server");
  }

  async recording(): Promise<string> {
    throw new Error("the record of a session is on the server");
  }

  async noteSaved(): Promise<void> {
    // The server knows what it saved.
  }

  async recorded(): Promise<boolean> {
    return true;
  }
}
