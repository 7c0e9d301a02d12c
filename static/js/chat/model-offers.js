// Renews the models at the message box after a question was refused because its model is not offered any more: what
// would answer now is on the page before anything else is sent.

import { find, parse, seek } from "../page/dom.js";
import { read } from "../page/server.js";

/** @import { Ask } from "../wire/wire.js" */

/**
 * @param {HTMLElement} composer
 * @param {Ask | undefined} command that was refused
 */
export async function renew(composer, command) {
  const asked = (command && "choice" in command && command.choice) || "";
  const query = new URLSearchParams(location.search);
  query.set("model", asked);
  const html = await read(`${location.pathname}?${query}`).catch(() => null); // a reload shows them, too
  if (html === null) return;
  const fresh = find(parse(html), "chat-composer", HTMLElement);
  const before = seek(composer, ".model", HTMLElement);
  const shown = seek(composer, ".model-choice", HTMLSelectElement)?.value;
  const after = seek(fresh, ".model", HTMLElement);
  const choice = after && find(after, "select", HTMLSelectElement);
  before?.remove();
  // The search beside it knows the earlier models.
  composer.querySelector(".model-search")?.remove();
  if (after) find(composer, ".effort", HTMLElement).before(after);
  composer.dataset.choice = fresh.dataset.choice ?? "";
  const isKept = choice && shown !== asked && [...choice.options].some(({ value }) => value === shown);
  if (isKept) choice.value = shown ?? "";
  composer.querySelector(".composer-gone")?.remove();
  const gone = seek(fresh, ".composer-gone", HTMLElement);
  if (gone && !isKept) find(composer, "#composer-count", HTMLElement).before(gone);
}
