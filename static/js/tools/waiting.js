// Calls that wait for the person: has their cards fetched when something about them changed.

import { seek } from "../page/dom.js";

/** @import { Exchange } from "../exchange/exchange.js" */

/**
 * @param {Exchange | null} exchange
 * @param {number} count how many of its calls wait
 */
export function callsWait(exchange, count) {
  const isShown = exchange && seek(exchange.element, "[data-waiting]", HTMLElement) !== null;
  if (exchange && (count || isShown)) void import("./cards.js").then(({ showCards }) => showCards(exchange.element));
}
