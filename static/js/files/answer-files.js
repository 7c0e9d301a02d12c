// Deletes a document that was sent with a question.

import { t } from "../language/words.js";
import { find, seek, parse } from "../page/dom.js";
import { postJson, read } from "../page/server.js";
import { toast } from "../page/menus.js";

/** @param {HTMLElement} button */
export function askToDelete(button) {
  const item = button.closest(".file");
  if (!(item instanceof HTMLElement)) return;
  toast(t("Permanently delete this document? Answers and Python output are kept."), {
    label: t("Delete"),
    run: () => void postJson(button.dataset.file ?? "").then(
      () => gone(item),
      () => toast(t("That did not work. Please reload the page.")),
    ),
  });
}

/** @param {HTMLElement} item */
function gone(item) {
  const link = seek(item, ".file-link", HTMLElement);
  link?.removeAttribute("href");
  find(item, ".file-name", HTMLElement).textContent = t("A document that was deleted");
  for (const each of item.querySelectorAll(".file-size, .question-tools")) each.remove();
}

// Files that tools create while an answer is written. The server renders the list; the end of the turn includes it
// again.

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
