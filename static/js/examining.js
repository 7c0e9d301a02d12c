// The script of a model server's page: shows the progress while the server is examined. Without it, people reload.

import "./site.js";
import { find, parse } from "./page/dom.js";
import { read, SignedOut } from "./page/server.js";

const LOOK_MS = 1_500;
const state = find(document, "#examination-state", HTMLElement);
const part = find(document, "#examination", HTMLElement);

lookLater();

function lookLater() {
  if ("running" in part.dataset) setTimeout(() => void look(), LOOK_MS);
}

async function look() {
  try {
    show(parse(await read(location.pathname)));
  } catch (error) {
    if (error instanceof SignedOut) return location.reload();
  }
  lookLater();
}

/** @param {DocumentFragment} page */
function show(page) {
  const fresh = find(page, "#examination", HTMLElement);
  const words = find(page, "#examination-state", HTMLElement).textContent ?? "";
  // Unchanged parts are left alone, because a screen reader would read them again.
  if (words !== state.textContent) state.textContent = words;
  if (fresh.isEqualNode(part)) return;
  part.toggleAttribute("data-running", "running" in fresh.dataset);
  part.replaceChildren(...fresh.childNodes);
}
