// The blanks of a saved prompt, such as {{text}}, {{date}} or {{tone: formal | friendly}}, and the form that fills them
// in. What stands in braces in another way, as in source code, is text.

import { LANGUAGE, t } from "../language/words.js";
import { made } from "../page/made.js";
import { messageOf } from "../page/server.js";

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Input */
/** @typedef {{ label: string, about?: string, input: Input }} Field */
/** @typedef {{ message?: string, connect?: string }} Told why there is nothing, and where one's account is connected */
/** @typedef {Told & { text?: string, note?: string }} Reply */
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
 * @returns {Promise<Reply | null>} the filled text; null if the person closed the form
 */
export function askForBlanks(title, text) {
  const blanks = blanksOf(text);
  const fields = blanks.map((blank) => ({ label: nameOf(blank.name), input: fieldOf(blank) }));
  return askFor(title, [], fields, async (values) => {
    return { text: filledIn(text, new Map(blanks.map(({ name }, index) => [name, values[index] ?? ""]))) };
  });
}

/**
 * A form for what a prompt is filled with. Without fields, it is sent at once.
 * @param {string} title
 * @param {string[]} lead lines above the fields
 * @param {Field[]} fields
 * @param {(values: string[]) => Promise<Reply>} fill with the values of the fields. As long as it gives no text, the
 *   form stays, with what was filled in, and says why.
 * @returns {Promise<Reply | null>} with the text; null if the person closed the form
 */
export function askFor(title, lead, fields, fill) {
  const dialog = made("dialog", "move-dialog");
  const [form, head, heading] = [made("form", "prompt-form"), made("div", "move-head"), made("h2", "", title)];
  const [close, insert] = [made("button", "quiet", "×"), made("button", "button", t("Insert"))];
  const state = made("p", "prompt-state");
  heading.id = "prompt-title";
  heading.dir = "auto";
  dialog.setAttribute("aria-labelledby", heading.id);
  close.type = "button";
  close.setAttribute("aria-label", t("Close"));
  head.append(heading, close);
  form.append(...lead.map(words), ...fields.map(labelled));
  insert.classList.add("button-main");
  insert.type = "submit";
  state.setAttribute("role", "status");
  form.append(state, insert);
  dialog.append(head, form);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  (fields[0]?.input ?? insert).focus();
  return new Promise((resolve) => {
    let isFilling = false;
    /** @type {Reply | null} */
    let done = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isFilling) return;
      isFilling = true;
      state.textContent = t("The server is asked…");
      /** @type {Reply} */
      let reply;
      try {
        reply = await fill(fields.map(({ input }) => valueOf(input)));
      } catch (error) {
        reply = { message: messageOf(error) };
      }
      isFilling = false;
      tell(state, reply);
      if (reply.text === undefined) return;
      done = reply;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(done);
    });
    if (!fields.length) form.requestSubmit();
  });
}

/** @param {HTMLElement} line @param {Told} told */
export function tell(line, { message = "", connect }) {
  line.textContent = message;
  if (connect) line.append(" ", Object.assign(made("a", "", t("Connected accounts")), { href: connect }));
}

/** @param {Field} field @param {number} index */
function labelled({ label, about, input }, index) {
  const whole = made("label", "field");
  whole.append(made("bdi", "", label), input);
  if (!about) return whole;
  const described = made("div", "prompt-field");
  const more = words(about);
  more.id = `prompt-about-${index}`;
  input.setAttribute("aria-describedby", more.id);
  described.append(whole, more);
  return described;
}

/** A line of a tool server's. @param {string} text */
function words(text) {
  return Object.assign(made("p", "prompt-about", text), { dir: "auto" });
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
  return lineField();
}

/**
 * A field of one line that keeps the lines of a pasted text. Enter goes to the next empty one that is not optional, or
 * submits the form.
 */
export function lineField() {
  const line = Object.assign(made("textarea", "earlier-search"), { rows: 1, dir: "auto" });
  line.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!line.reportValidity()) return;
    const all = [...(line.form?.querySelectorAll("textarea") ?? [])];
    const empty = all.slice(all.indexOf(line) + 1).find((each) => !each.value && !("optional" in each.dataset));
    if (empty) empty.focus();
    else line.form?.requestSubmit();
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
 * @param {Input} field
 */
function valueOf(field) {
  if (field.type !== "date" || !field.value) return field.value;
  return new Date(`${field.value}T12:00`).toLocaleDateString(LANGUAGE, { dateStyle: "long" });
}
