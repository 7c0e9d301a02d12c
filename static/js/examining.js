// The script of the page of one model server: while it is examined, shows how far that is. Without it, people look
// again themselves.

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
  // What has not changed is left alone: a screen reader would say it again.
  if (words !== state.textContent) state.textContent = words;
  if (fresh.isEqualNode(part)) return;
  part.toggleAttribute("data-running", "running" in fresh.dataset);
  part.replaceChildren(...fresh.childNodes);
}
