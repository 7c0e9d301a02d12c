// Files that tools create while an answer is written. The server renders the list; the end of the turn includes it
// again.

import { find, parse } from "../page/dom.js";
import { read } from "../page/server.js";

/** The number of the newest request of each exchange: an older answer must not replace a newer one. */
const asked = /** @type {WeakMap<HTMLElement, number>} */ (new WeakMap());

/** @param {HTMLElement} exchange */
export async function showFiles(exchange) {
  const number = (asked.get(exchange) ?? 0) + 1;
  asked.set(exchange, number);
  const turn = exchange.dataset.turn;
  let files;
  try {
    files = parse(await read(`${location.pathname}turns/${turn}/files/`));
  } catch {
    return; // the end of the answer shows them
  }
  const isOver = exchange.dataset.state !== "running" || exchange.dataset.turn !== turn;
  if (isOver || asked.get(exchange) !== number) return;
  const place = find(exchange, ".answer-end", HTMLElement);
  // The files are the same: do not load the pictures again.
  if (addresses(files) !== addresses(place)) place.replaceChildren(files);
}

/** @param {ParentNode} place @returns {string} */
function addresses(place) {
  return [...place.querySelectorAll(".file-link")].map((link) => link.getAttribute("href")).join();
}
