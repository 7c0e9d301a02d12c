// Renews the models at the message box from the server: after a question was refused because its model is not offered
// any more, so that what would answer now is on the page before anything else is sent; and where another tab, or the
// server, has others.

import { find, parse, seek } from "../page/dom.js";
import { read } from "../page/server.js";
import { refusal } from "../language/refusals.js";

/** @import { Ask } from "../wire/wire.js" */
/** @import { ChatComposer } from "../composer/composer.js" */

/**
 * Says what is so now: which model answers instead, or that another has to be chosen.
 * @param {ChatComposer} composer
 * @param {Ask | undefined} command that was refused
 * @param {(sentence: string) => void} say where it was asked
 */
export async function refused(composer, command, say) {
  await renew(composer, (command && "choice" in command && command.choice) || "");
  const gone = seek(composer, ".composer-gone", HTMLElement);
  if (!gone || command?.type === "edit") return say(gone?.innerText || refusal("E-X-NO-SUCH-MODEL"));
  gone.role = "alert";
  gone.replaceWith(gone.cloneNode(true)); // only what enters the page is read out
}

/**
 * @param {ChatComposer} composer
 * @param {string} [asked] the model that was asked for in vain
 */
export async function renew(composer, asked = "") {
  const query = new URLSearchParams(location.search);
  query.set("model", asked);
  const html = await read(`${location.pathname}?${query}`).catch(() => null); // a reload shows them, too
  if (html === null) return;
  show(composer, find(parse(html), "chat-composer", HTMLElement), asked !== "" && composer.choice !== asked);
}

/**
 * The conversation stays with this model and effort, as was asked here or in another tab. What was chosen here and not
 * asked yet is newer.
 * @param {ChatComposer} composer
 * @param {string} choice
 * @param {string} effort
 */
export function follow(composer, choice, effort) {
  const { dataset, choice: shown } = composer;
  const isFree = shown === dataset.choice && shown !== choice;
  if (composer.effort === dataset.effort) effortOf(composer).value = effort;
  Object.assign(dataset, { choice, effort });
  composer.querySelector(".composer-gone")?.remove();
  if (!isFree) return;
  const models = seek(composer, ".model-choice", HTMLSelectElement);
  const option = [...(models?.options ?? [])].find(({ value }) => value === choice);
  if (option) option.selected = true;
  else void renew(composer); // one that the page does not know
}

/**
 * The page takes over what the server has now, except what was chosen here and not asked yet.
 * @param {HTMLElement} page
 * @param {HTMLElement} fresh the message box of the same conversation
 */
export function adopt(page, fresh) {
  const composer = /** @type {ChatComposer} */ (find(page, "chat-composer", HTMLElement));
  const { effort = "" } = fresh.dataset;
  if (composer.effort === composer.dataset.effort) effortOf(composer).value = effort;
  composer.dataset.effort = effort;
  show(composer, fresh, composer.choice !== composer.dataset.choice);
}

/**
 * @param {ChatComposer} composer
 * @param {HTMLElement} fresh
 * @param {boolean} keeps whether the model that the page shows stays, if it is still offered
 */
function show(composer, fresh, keeps) {
  const shown = composer.choice;
  const [mine, theirs] = [composer, fresh].map((each) => seek(each, ".model-choice", HTMLSelectElement));
  const chosen = theirs?.value ?? "";
  const isKept = keeps && Boolean(theirs && [...theirs.options].some(({ value }) => value === shown));
  if (offered(mine) !== offered(theirs)) {
    mine?.closest(".model")?.remove();
    // The search beside it knows the earlier models.
    composer.querySelector(".model-search")?.remove();
    const model = theirs?.closest(".model");
    if (model) effortOf(composer).closest(".effort")?.before(model);
  }
  const choice = seek(composer, ".model-choice", HTMLSelectElement);
  if (choice) choice.value = isKept ? shown : chosen;
  composer.dataset.choice = fresh.dataset.choice ?? "";
  composer.querySelector(".composer-gone")?.remove();
  const gone = seek(fresh, ".composer-gone", HTMLElement);
  if (gone && !isKept) find(composer, "#composer-count", HTMLElement).before(gone);
}

/** @param {HTMLSelectElement | null | undefined} choice */
function offered(choice) {
  return choice ? [...choice.options].map(({ value, text }) => `${value} ${text}`).join("\n") : "";
}

/** @param {HTMLElement} composer */
function effortOf(composer) {
  return find(composer, "select[name=effort]", HTMLSelectElement);
}
