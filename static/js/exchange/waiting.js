// Fetches parts of a running turn that no event contains: cards of calls that wait for the person, and files.

import { seek } from "../page/dom.js";

/** @import { Exchange } from "./exchange.js" */
/** @import { CallsWait, FilesCame, Snapshot } from "../wire/wire.js" */

/**
 * @param {Exchange | null} exchange
 * @param {CallsWait | FilesCame | Snapshot} event
 */
export function fetchFor(exchange, event) {
  if (event.type === "chatui:calls_wait") callsWait(exchange, event.count);
  if (event.type === "chatui:files") filesCame(exchange, event.count);
  if (event.type !== "chatui:snapshot") return;
  callsWait(exchange, event.calls_wait);
  filesCame(exchange, event.files);
}

/**
 * @param {Exchange | null} exchange
 * @param {number} count how many of its calls wait
 */
export function callsWait(exchange, count) {
  const isShown = exchange && seek(exchange.element, "[data-waiting]", HTMLElement) !== null;
  if (exchange && (count || isShown)) void import("./cards.js").then(({ showCards }) => showCards(exchange.element));
}

/**
 * @param {Exchange | null} exchange
 * @param {number} count how many files its turn has
 */
function filesCame(exchange, count) {
  if (exchange && count) void import("../files/answer-files.js").then(({ showFiles }) => showFiles(exchange.element));
}
