// The cards of calls about which the person decides. The server makes them; without this script their buttons work as
// those of any form.

import { t } from "../language/words.js";
import { around, find, parse, seek } from "../page/dom.js";
import { RequestFailed, act, read } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** So long after cards have changed, a click may still be meant for what stood there before. */
const SETTLING_MS = 400;
let changedAt = -Infinity;

/** The cards that were announced, so that each is once. @type {Set<string>} */
const announced = new Set();

/** The number of the newest request of each exchange: an older answer must not replace a newer one. */
const asked = /** @type {WeakMap<HTMLElement, number>} */ (new WeakMap());

/** @param {HTMLElement} exchange */
export async function showCards(exchange) {
  const number = (asked.get(exchange) ?? 0) + 1;
  asked.set(exchange, number);
  let cards;
  try {
    cards = parse(await read(`${location.pathname}turns/${exchange.dataset.turn}/calls/`));
  } catch {
    return; // the next event or the end of the answer shows them
  }
  if (asked.get(exchange) !== number) return;
  const place = find(exchange, ".approvals", HTMLElement);
  // The same cards once more: who has the focus on a button keeps it.
  if (stateOf(cards) !== stateOf(place)) {
    const had = heldBy(place);
    if (place.childElementCount) changedAt = performance.now();
    place.replaceChildren(cards);
    if (had) focusOn(place);
  }
  announce(exchange, place);
}

/** @param {ParentNode} place @returns {string} which calls wait in it, and which are decided */
function stateOf(place) {
  const cards = /** @type {HTMLElement[]} */ ([...place.querySelectorAll("[data-waiting], [data-decided]")]);
  return cards.map((card) => `${card.dataset.waiting ?? ""}/${card.dataset.decided ?? ""}`).join();
}

/** @param {HTMLElement} place @returns {boolean} whether the focus is in it */
function heldBy(place) {
  return place.contains(document.activeElement);
}

/**
 * What had the focus is gone: the next call that waits has it, or what became of the last one.
 * @param {HTMLElement} place
 */
function focusOn(place) {
  const next = seek(place, "[data-waiting] .approval-title", HTMLElement);
  const done = place.querySelectorAll("summary");
  (next ?? done[done.length - 1])?.focus({ preventScroll: true });
}

/**
 * @param {HTMLElement} exchange
 * @param {HTMLElement} place
 */
function announce(exchange, place) {
  const fresh = [...place.querySelectorAll("[data-waiting]")].map((card) => card.getAttribute("data-waiting") ?? "");
  const isNew = fresh.some((id) => !announced.has(id));
  for (const id of fresh) announced.add(id);
  if (!isNew) return;
  const detail = t("A tool waits for your decision.");
  exchange.dispatchEvent(new CustomEvent("chat:announce", { detail, bubbles: true }));
}

/** @param {SubmitEvent} event */
async function decided(event) {
  const form = around(event, ".approval-form");
  const exchange = around(event, ".exchange");
  const button = event.submitter;
  if (!(form instanceof HTMLFormElement) || !exchange || !(button instanceof HTMLButtonElement)) return;
  event.preventDefault();
  if (form.dataset.sent || performance.now() - changedAt < SETTLING_MS) return;
  form.dataset.sent = "yes";
  try {
    await act(new URL(form.action).pathname, { decision: button.value });
  } catch (error) {
    // Somebody was faster, in another tab, or the time was over: the card then says so.
    toast(error instanceof RequestFailed ? error.message : t("Something went wrong. Please reload the page."));
  }
  delete form.dataset.sent;
  await showCards(exchange);
}

document.addEventListener("submit", decided);
