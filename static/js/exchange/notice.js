// The sentence below an answer that was not finished, as the server words it.

import { seek } from "../page/dom.js";

/** @import { Exchange } from "./exchange.js" */

/**
 * Null where there is none. The code behind the sentence is for those who help, and is not read out.
 * @param {Exchange | null} exchange
 */
export function noticeOf(exchange) {
  const text = exchange && seek(exchange.element, ".notice-text", HTMLElement);
  return text?.firstChild?.textContent?.trim() || null;
}
