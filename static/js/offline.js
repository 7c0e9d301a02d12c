// The page without a connection: what was asked for is shown by itself once the server can be reached again. It imports
// nothing, since the worker has to keep every file of this page.

const FIRST_MS = 2_000;
const LONGEST_MS = 60_000;

// Kept for the page that comes: where that is this one again, it asks less often.
let wait = Number(history.state?.wait) || FIRST_MS;
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
  const isThere = await isReached();
  wait = Math.min(2 * wait, LONGEST_MS);
  if (isThere) {
    history.replaceState({ wait }, "");
    return location.reload();
  }
  isLooking = false;
  timer = setTimeout(look, wait);
}

/**
 * Whether the server answers: asked for the smallest thing that is the same for everybody. A sign-in that stands before
 * the product and leads elsewhere, or refuses, counts as well: only the page itself, once it is asked for, leads there.
 */
async function isReached() {
  const manifest = document.querySelector("link[rel=manifest]")?.getAttribute("href") ?? "";
  try {
    return (await fetch(manifest, { cache: "no-store", redirect: "manual" })).status < 500;
  } catch {
    return false;
  }
}
