/** Whether a server answers: sees the replies to all requests of the page, and notes what they say about the connection. */

/**
 * The state of the connection to a server: "" while it answers, `lost` while it cannot be reached, `refused` if it does not
 * accept the page's token, `gone` if it does not have the joined session any more.
 */
export type Link = "" | "lost" | "refused" | "gone";

/** Statuses of a proxy in front of a server that does not answer. */
const UNREACHED = new Set([502, 504]);

/** Pause before a server that did not answer is asked again, in milliseconds. */
const AGAIN_MS = 1_000;

export class RemoteLink {
  state: Link = "";
  /** The id of the joined session. */
  session = "";
  /** Called when the server stops to answer, also to a request of the user. */
  onLoss: () => void = () => undefined;

  /** The `fetch` of the client. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    try {
      const response = await fetch(url, init);
      if (response.status === 401) this.note("refused");
      else if (response.status === 404 && this.#isAboutSession(url, init)) this.note("gone");
      else if (UNREACHED.has(response.status)) this.note("lost");
      return response;
    } catch (error) {
      if (!init.signal?.aborted) this.note("lost");
      throw error;
    }
  };

  /** Whether a request needs nothing but the joined session. */
  #isAboutSession(url: string, { body }: RequestInit): boolean {
    if (this.session === "") return false;
    const isRun = url.endsWith("/api/agent/run") && typeof body === "string" && body.includes(`"${this.session}"`);
    return isRun || url.endsWith(`/sessions/${this.session}`);
  }

  note(state: Link): void {
    if (state === this.state) return;
    const wasJoined = this.state === "";
    this.state = state;
    if (wasJoined) this.onLoss();
  }

  /** Notes why the conversation could not be read. Returns when to read it again, or false if that has no use. */
  async failed(error: unknown): Promise<boolean> {
    if ((error as { code?: string } | null)?.code === "not_found") this.note("gone");
    else if (this.state === "") this.note("lost");
    if (this.state !== "gone") await new Promise((done) => setTimeout(done, AGAIN_MS));
    return this.state !== "gone";
  }
}
