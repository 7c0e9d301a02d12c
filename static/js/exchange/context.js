// How full the model's context was after an answer: stored on the exchange's element, for "../chat/context-use.js" to
// show.

/**
 * @param {HTMLElement} exchange
 * @param {string | number | null | undefined} percent null if unknown
 * @param {string | number | null | undefined} leftOut how many of the oldest questions the model was not shown
 */
export function noteContext(exchange, percent, leftOut) {
  note(exchange, "context", percent);
  note(exchange, "leftOut", leftOut);
}

/**
 * @param {HTMLElement} exchange
 * @param {"context" | "leftOut"} name
 * @param {string | number | null | undefined} value
 */
function note(exchange, name, value) {
  if (value) exchange.dataset[name] = String(value);
  else delete exchange.dataset[name];
}
