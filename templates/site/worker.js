// The service worker. It caches static files, whose names change with their content, and the offline page. Personal
// data never gets into its cache: pages come from the server or not at all, and everything else (data, downloads,
// sockets, forms) bypasses it.

const CACHE = "{{ cache|escapejs }}";
const OFFLINE = "{% url 'offline' %}";
const SHELL = [{% for file in shell %}"{{ file|escapejs }}", {% endfor %}];
const STATIC = /^\/(?:static\/.+\.[0-9a-f]{12}\.[a-z0-9]+|brand\/[0-9a-f]{16}\/[a-z.]+)$/;
const CACHEABLE = /^(?:text\/css|(?:text|application)\/javascript|image\/|font\/)/;
const PAGES = /^\/(?:c\/[0-9a-f-]{36}\/|archived\/|bin\/|sign-in\/)?$/;

addEventListener("install", (event) => event.waitUntil(cacheShell()));
addEventListener("activate", (event) => event.waitUntil(deleteOldCaches()));
addEventListener("message", (event) => {
  if (event.data === "which") event.ports[0].postMessage(CACHE);
  else event.waitUntil(takeOver(event.data));
});
addEventListener("notificationclick", (event) => event.waitUntil(focusPage(event.notification)));
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname, search } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate") {
    if (PAGES.test(pathname)) event.respondWith(fetch(event.request).catch(offline));
  } else if (STATIC.test(pathname) && !search) {
    event.respondWith(cachedOrFetched(event));
  }
});

async function cacheShell() {
  const cache = await caches.open(CACHE);
  const offlinePage = (credentials) => new Request(OFFLINE, { credentials, cache: "no-store", redirect: "error" });
  // Without cookies, the page is in the browser's language. A sign-in proxy lets only requests with its cookie through.
  const added = cache.add(offlinePage("omit")).catch(() => cache.add(offlinePage("same-origin")));
  await Promise.all([added, cache.addAll(SHELL)]);
}

async function takeOver(wanted) {
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (wanted === "take over" || (wanted === "take-over-if-alone" && pages.length < 2)) await skipWaiting();
}

async function deleteOldCaches() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await clients.claim();
}

async function cachedOrFetched(event) {
  const found = await cached(event.request);
  if (found) return found;
  const response = await fetch(event.request);
  const isComplete = response.status === 200 && response.type === "basic" && !response.redirected;
  const isCacheable = isComplete && CACHEABLE.test(response.headers.get("Content-Type") ?? "");
  if (isCacheable) event.waitUntil(store(event.request, response.clone()));
  return response;
}

// A full, broken or forbidden cache must not block responses from the server.
const store = (request, response) => caches.open(CACHE).then((cache) => cache.put(request, response)).catch(() => {});
const cached = (request) => caches.open(CACHE).then((cache) => cache.match(request)).catch(() => {});
const offline = async () => (await cached(OFFLINE)) ?? Response.error();

async function focusPage(notification) {
  notification.close();
  const [page] = await clients.matchAll({ type: "window" });
  await page?.focus();
}
