// The blanks of a saved prompt, such as {{text}}, {{date}} or {{tone: formal | friendly}}, and the form that fills them
// in. What stands in braces in another way, as in source code, is text.

import { LANGUAGE, t } from "../language/words.js";
import { made } from "../page/made.js";

/** @typedef {{ name: string, choices: string[] }} Blank `choices`: empty if any text can be filled in */

const BLANK = /\{\{[ \t]*([\p{L}_][\p{L}\p{M}\p{N}_ -]{0,39}?)[ \t]*(?::[ \t]*([^{}\n]{1,500}?)[ \t]*)?\}\}/gu;
const MOST = 20;

/**
 * The blanks of a text, each name once. More than fit a form stay as text.
 * @param {string} text
 * @returns {Blank[]}
 */
export function blanksOf(text) {
  /** @type {Map<string, Blank>} */
  const found = new Map();
  for (const [, name = "", listed = ""] of text.matchAll(BLANK)) {
    const choices = listed.split("|").map((each) => each.trim()).filter(Boolean);
    const known = found.get(name);
    if (!known && found.size < MOST) found.set(name, { name, choices });
    else if (known && !known.choices.length) known.choices = choices;
  }
  return [...found.values()];
}

/**
 * The text with these values in its blanks. What stands in a value stays as it is.
 * @param {string} text
 * @param {ReadonlyMap<string, string>} values
 */
export function filledIn(text, values) {
  return text.replace(BLANK, (whole, name) => values.get(name) ?? whole);
}

/**
 * Asks for what the blanks of a text are filled with.
 * @param {string} title
 * @param {string} text
 * @returns {Promise<string | null>} the filled text; null if the person closed the form
 */
export function askForBlanks(title, text) {
  const dialog = made("dialog", "move-dialog");
  const [form, head, heading] = [made("form", "prompt-form"), made("div", "move-head"), made("h2", "", title)];
  const close = made("button", "quiet", "×");
  heading.id = "prompt-title";
  heading.dir = "auto";
  dialog.setAttribute("aria-labelledby", heading.id);
  close.type = "button";
  close.setAttribute("aria-label", t("Close"));
  head.append(heading, close);
  const fields = blanksOf(text).map((blank) => ({ blank, field: fieldOf(blank) }));
  for (const { blank, field } of fields) {
    const label = made("label", "field");
    label.append(made("bdi", "", nameOf(blank.name)), field);
    form.append(label);
  }
  const insert = made("button", "button", t("Insert"));
  insert.classList.add("button-main");
  insert.type = "submit";
  form.append(insert);
  dialog.append(head, form);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  fields[0]?.field.focus();
  return new Promise((resolve) => {
    /** @type {string | null} */
    let done = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      done = filledIn(text, new Map(fields.map(({ blank, field }) => [blank.name, valueOf(field)])));
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(done);
    });
  });
}

/** @param {string} name */
function nameOf(name) {
  const usual = /** @type {Record<string, string>} */ ({ text: t("Text"), date: t("Date") });
  return usual[name] ?? name;
}

/** @param {Blank} blank */
function fieldOf({ name, choices }) {
  if (choices.length) {
    const select = made("select", "earlier-search");
    for (const choice of choices) select.add(new Option(choice, choice));
    return select;
  }
  if (name === "text") return Object.assign(made("textarea", "earlier-search"), { rows: 5, dir: "auto" });
  if (name === "date") return Object.assign(made("input", "earlier-search"), { type: "date", value: today() });
  // A field of one line would drop the lines of what is pasted.
  const line = Object.assign(made("textarea", "earlier-search"), { rows: 1, dir: "auto" });
  line.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    line.form?.requestSubmit();
  });
  return line;
}

/** The day where the person is. */
function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/**
 * A day is written as the page's language does.
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} field
 */
function valueOf(field) {
  if (field.type !== "date" || !field.value) return field.value;
  return new Date(`${field.value}T12:00`).toLocaleDateString(LANGUAGE, { dateStyle: "long" });
}
