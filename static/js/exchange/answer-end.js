// Builds what is shown below an answer from the event that ends its turn.

import { LANGUAGE } from "../language/words.js";
import { find, parse, templateWith, seek } from "../page/dom.js";

/** @import { PlainEnd, TurnEnded } from "../wire/wire.js" */

/**
 * Null if it has to be fetched instead: the event has no such data, or none in this page's language, or data that is
 * malformed or does not fit into a copy of the template. The turn ends in any case.
 * @param {TurnEnded} event
 * @param {string | null} conversation
 */
export function belowAnswer({ html, language, plain }, conversation) {
  try {
    if (plain) return conversation && isWhole(plain) ? plainEnd(conversation, plain) : null;
    return html && isShowable(language) ? parse(html) : null;
  } catch {
    return null;
  }
}

/** Whether its text is in a language that this page can show. @param {string | null | undefined} language */
export function isShowable(language) {
  return language === LANGUAGE;
}

/** @param {PlainEnd} plain @returns {boolean} whether its fields are well-formed: nothing has checked them before */
function isWhole({ message_id: id, at, names, rated }) {
  const areNames = Array.isArray(names) && names.every((name) => typeof name === "string");
  return typeof id === "string" && !Number.isNaN(Date.parse(at)) && areNames && typeof rated === "boolean";
}

/**
 * A copy of the template, filled in. Values are inserted as text or into addresses, never as HTML.
 * @param {string} conversation
 * @param {PlainEnd} plain
 */
function plainEnd(conversation, { message_id: id, at, names, rated }) {
  const end = templateWith("answer-end", HTMLElement, conversation, id);
  if (!rated) seek(end, ".thumbs", HTMLElement)?.remove();
  const place = find(end, ".answer-facts > span", HTMLElement);
  place.before(...names.map((name) => Object.assign(document.createElement("span"), { textContent: name })));
  place.remove();
  find(end, "time", HTMLTimeElement).dateTime = at;
  return end;
}
