// The page without a connection: what was asked for is shown by itself once the server can be reached again. It imports
// nothing, since the worker has to keep every file of this page.

const FIRST_MS = 2_000;
const LONGEST_MS = 60_000;

let wait = FIRST_MS;
let timer = 0;
let isLooking = false;

// Whoever opened this very page is not to have it loaded again and again.
if (!location.pathname.endsWith("/offline/")) {
  timer = setTimeout(look, wait);
  addEventListener("online", look);
}

async function look() {
  if (isLooking) return;
  isLooking = true;
  clearTimeout(timer);
  if (await isReached()) return location.reload();
  isLooking = false;
  wait = Math.min(2 * wait, LONGEST_MS);
  timer = setTimeout(look, wait);
}

/** Whether the server answers: asked for the smallest thing that is the same for everybody. */
async function isReached() {
  const manifest = document.querySelector("link[rel=manifest]")?.getAttribute("href") ?? "";
  try {
    return (await fetch(manifest, { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
