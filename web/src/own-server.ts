/** The server (`emend serve`) that the page itself comes from. It then needs no address, and no token if it set a cookie. */

/** Says that the page has joined its own server, for the next visit. */
const MARK = "emend.own-server";
/** The session of a server that this tab showed last. */
const SESSION = "emend.session";

/**
 * Returns the token in the page's address, and removes it there; "" if the server has taken the token out of the address in
 * exchange for a cookie. Returns null if the page was opened otherwise.
 */
export function invitation(): string | null {
  const address = new URL(location.href);
  const token = address.searchParams.get("token");
  if (token !== null) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
    return token;
  }
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return navigation?.type === "navigate" && navigation.redirectCount > 0 ? "" : null;
}

/** Whether the page had joined its own server when it was left. */
export function wasJoined(): boolean {
  return read() !== null;
}

/** Notes whether the page is in the session of its own server. */
export function noteJoined(isJoined: boolean): void {
  try {
    if (isJoined) localStorage.setItem(MARK, "1");
    else localStorage.removeItem(MARK);
  } catch {
    // A page without storage asks again.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(MARK);
  } catch {
    return null;
  }
}

/** Keeps the id of the tab's session for a reload. */
export function rememberSession(id: string): void {
  try {
    sessionStorage.setItem(SESSION, id);
  } catch {
    // A page without storage joins the session that was used last.
  }
}

/** Returns the id of the session that the tab showed last, or null. */
export function rememberedSession(): string | null {
  try {
    return sessionStorage.getItem(SESSION) || null;
  } catch {
    return null;
  }
}

/** An address as the user gives it: that of a server, or as the server prints it, with its token. */
export interface Invited {
  readonly url: string;
  /** "" if there is none. */
  readonly token: string;
}

/** Returns the server of an address, or null if the page may not send a token there. */
export function serverAt(address: string, own = location.origin): Invited | null {
  if (!URL.canParse(address)) return null;
  const { protocol, username, hostname, origin, pathname, searchParams } = new URL(address);
  const isLocal = hostname === "localhost" || hostname === "127.0.0.1";
  const isPermitted = protocol === "https:" || (protocol === "http:" && (isLocal || origin === own));
  if (username !== "" || !isPermitted) return null;
  return { url: origin + pathname.replace(/\/+$/, ""), token: searchParams.get("token") ?? "" };
}
