// The server's message below an unfinished answer.

import { seek } from "../page/dom.js";

/** @import { Exchange } from "./exchange.js" */

/**
 * Null if there is none. The error code after the message is for support, and is not read out.
 * @param {Exchange | null} exchange
 */
export function noticeOf(exchange) {
  const text = exchange && seek(exchange.element, ".notice-text", HTMLElement);
  return text?.firstChild?.textContent?.trim() || null;
}
