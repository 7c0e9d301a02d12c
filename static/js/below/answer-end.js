// What stands below an answer, as the event that ends its turn carries it.

import { LANGUAGE } from "../language/words.js";
import { find, parse, pieceAbout, seek } from "../page/dom.js";

/** @import { PlainEnd, TurnEnded } from "../wire/wire.js" */

/**
 * Null where it has to be fetched: where the event has nothing, nothing in this page's language, or what does not fit
 * or goes into no copy of the piece. The turn ends in any case.
 * @param {TurnEnded} event
 * @param {string | null} conversation
 */
export function belowAnswer({ html, language, plain }, conversation) {
  try {
    if (plain) return conversation && isWhole(plain) ? plainEnd(conversation, plain) : null;
    return html && isWorded(language) ? parse(html) : null;
  } catch {
    return null;
  }
}

/** Whether what is worded in it can be shown on this page. @param {string | null | undefined} language */
export function isWorded(language) {
  return language === LANGUAGE;
}

/** @param {PlainEnd} plain @returns {boolean} whether it is what it is declared to be: it was not looked into before */
function isWhole({ message_id: id, at, names, rated }) {
  const areNames = Array.isArray(names) && names.every((name) => typeof name === "string");
  return typeof id === "string" && !Number.isNaN(Date.parse(at)) && areNames && typeof rated === "boolean";
}

/**
 * A copy of the piece for it. What is put in is text and part of addresses, never HTML.
 * @param {string} conversation
 * @param {PlainEnd} plain
 */
function plainEnd(conversation, { message_id: id, at, names, rated }) {
  const end = pieceAbout("answer-end", HTMLElement, conversation, id);
  if (!rated) seek(end, ".thumbs", HTMLElement)?.remove();
  const place = find(end, ".answer-facts > span", HTMLElement);
  place.before(...names.map((name) => Object.assign(document.createElement("span"), { textContent: name })));
  place.remove();
  find(end, "time", HTMLTimeElement).dateTime = at;
  return end;
}
