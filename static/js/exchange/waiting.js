// Fetches parts of a running turn that no event contains: cards of calls that wait for the person, and files.

import { seek } from "../page/dom.js";

/** @import { Exchange } from "./exchange.js" */

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
export function filesCame(exchange, count) {
  if (exchange && count) void import("../files/answer-files.js").then(({ showFiles }) => showFiles(exchange.element));
}
