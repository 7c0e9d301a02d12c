// The offline page: loads the requested page automatically once the server can be reached again. It has no imports,
// because the worker has to store every file of this page.

const FIRST_MS = 2_000;
const MAX_MS = 60_000;

// Stored for the next page: if that is the offline page again, it retries less often.
let wait = Number(history.state?.wait) || FIRST_MS;
let timer = 0;
let isLooking = false;

// Somebody who opens this very address must not get it reloaded again and again.
if (!location.pathname.endsWith("/offline/")) {
  timer = setTimeout(look, wait);
  addEventListener("online", look);
}

async function look() {
  if (isLooking) return;
  isLooking = true;
  clearTimeout(timer);
  const isThere = await isReached();
  wait = Math.min(2 * wait, MAX_MS);
  if (isThere) {
    history.replaceState({ wait }, "");
    return location.reload();
  }
  isLooking = false;
  timer = setTimeout(look, wait);
}

/**
 * Whether the server responds to a request for its smallest public file. A redirect or refusal by a sign-in proxy in
 * front of the product counts too: only requesting the page itself leads to that sign-in.
 */
async function isReached() {
  const manifest = document.querySelector("link[rel=manifest]")?.getAttribute("href") ?? "";
  try {
    return (await fetch(manifest, { cache: "no-store", redirect: "manual" })).status < 500;
  } catch {
    return false;
  }
}
