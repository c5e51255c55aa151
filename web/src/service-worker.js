// Keeps the page and its modules, so that it starts without network. The build replaces FILES and VERSION.
//
// Only files of the build are answered from the cache: requests to model providers and to a server of the same origin go
// through untouched. The page itself comes from the network if there is one, so that a new version is shown at once.

const FILES = [/* the build adds them */];
const CACHE = "emend-VERSION";

/** Modules that few users need. They are kept when they are first loaded. */
const LARGE = /shell-core|outline-[a-z]+-?[^/]*\.wasm/;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(FILES.filter((file) => !LARGE.test(file))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const scope = new URL(self.registration.scope);
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return;
  const path = url.pathname.slice(scope.pathname.length);
  if (path === "" || path === "index.html") event.respondWith(fromNetwork(request));
  else if (FILES.includes(path)) event.respondWith(fromCache(request));
});

async function fromNetwork(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match("index.html", { cacheName: CACHE });
    if (kept) return kept;
    throw error;
  }
}

async function fromCache(request) {
  const kept = await caches.match(request, { cacheName: CACHE, ignoreSearch: true });
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await (await caches.open(CACHE)).put(request, response.clone());
  return response;
}
