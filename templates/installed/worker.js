// The service worker. It keeps static files, whose names change with their content, and one page for when there is no
// connection. Nothing that belongs to a person gets into its cache: pages are shown as the server sends them or not at
// all, and everything else (data, downloads, sockets, forms) does not pass through it.

const CACHE = "chatui-{{ release|escapejs }}";
const OFFLINE = "{% url 'offline' %}";
const SHELL = [{% for file in shell %}"{{ file|escapejs }}", {% endfor %}];
const STATIC = /^\/(?:static\/.+\.[0-9a-f]{12}\.[a-z0-9]+|brand\/[0-9a-f]{16}\/[a-z.]+)$/;
const FITTING = /^(?:text\/css|(?:text|application)\/javascript|image\/|font\/)/;
const PAGES = /^\/(?:c\/[0-9a-f-]{36}\/|archived\/|bin\/|sign-in\/)?$/;

addEventListener("install", (event) => event.waitUntil(keepShell()));
addEventListener("activate", (event) => event.waitUntil(dropOthers()));
addEventListener("message", (event) => event.data === "take over" && skipWaiting());
addEventListener("notificationclick", (event) => event.waitUntil(comeForward(event.notification)));
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname, search } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate") {
    if (PAGES.test(pathname)) event.respondWith(fetch(event.request).catch(offline));
  } else if (STATIC.test(pathname) && !search) {
    event.respondWith(keptOrFetched(event));
  }
});

async function keepShell() {
  const cache = await caches.open(CACHE);
  // Without cookies, the page is that of nobody, in the language that this browser asks for.
  await cache.addAll([new Request(OFFLINE, { credentials: "omit", cache: "no-store" }), ...SHELL]);
}

async function dropOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await clients.claim();
}

async function keptOrFetched(event) {
  const found = await kept(event.request);
  if (found) return found;
  const response = await fetch(event.request);
  const isWhole = response.status === 200 && response.type === "basic" && !response.redirected;
  const isFitting = isWhole && FITTING.test(response.headers.get("Content-Type") ?? "");
  if (isFitting) event.waitUntil(keep(event.request, response.clone()));
  return response;
}

// A cache that is full, broken or forbidden keeps nobody from what the server sends.
const keep = (request, response) => caches.open(CACHE).then((cache) => cache.put(request, response)).catch(() => {});
const kept = (request) => caches.open(CACHE).then((cache) => cache.match(request)).catch(() => {});
const offline = async () => (await kept(OFFLINE)) ?? Response.error();

async function comeForward(notification) {
  notification.close();
  const [page] = await clients.matchAll({ type: "window" });
  await page?.focus();
}
