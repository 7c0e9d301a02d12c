// All answers to a question, as the server shows them side by side.

import { t } from "../language/words.js";
import { find, parse, seek } from "../page/dom.js";
import { read } from "../page/server.js";
import { toast } from "../page/toasts.js";

/**
 * @param {string} question
 * @returns {Promise<HTMLElement | null>} the section with all answers to it
 */
export async function fetched(question) {
  try {
    return find(parse(await read(`${location.pathname}messages/${question}/answers/`)), ".other-versions", HTMLElement);
  } catch (error) {
    toast(error instanceof Error ? error.message : t("The other versions could not be shown."));
    return null;
  }
}

/** @param {HTMLElement} section */
export function versionsIn(section) {
  return [...section.querySelectorAll(".version")].filter((version) => version instanceof HTMLElement);
}

/**
 * Whether the exchange shows this very version.
 * @param {HTMLElement} version
 * @param {HTMLElement} exchange
 */
export function isShown(version, exchange) {
  const { turn, imported } = exchange.dataset;
  if (turn || !imported) return version.dataset.ofTurn === turn;
  return seek(version, `[data-message="${CSS.escape(imported)}"]`, HTMLElement) !== null;
}

/** @param {HTMLElement} element */
export function copies(element) {
  return [...element.childNodes].map((node) => node.cloneNode(true));
}
