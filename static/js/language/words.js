// What the page says, in the language that it is shown in. English stands in the scripts; another language comes from
// its catalogue, a module that the page loads before its own.

/** @typedef {Readonly<Record<string, string | number>>} Values numbers are written as the language does */

/**
 * @typedef {object} Catalogue made from chatui/locale by `make messages`
 * @property {(n: number) => number} plural which form a number takes
 * @property {Readonly<Record<string, string | readonly string[]>>} entries by what they are in English
 */

/** The code of the page's language, as the server names it. */
export const LANGUAGE = globalThis.document?.documentElement.lang.toLowerCase() || "en";
const plainNumber = new Intl.NumberFormat(LANGUAGE);
const time = times(globalThis.document?.documentElement.dataset.timeZone);
/** Stands between a context and its word, as in gettext. */
const CONTEXT_END = "\u0004";
const NAME = /%\((\w+)\)s/g;

/** @type {Catalogue} */
let catalogue = { plural: () => 0, entries: {} };

/** Speak another language from now on. @param {Catalogue} other */
export function speak(other) {
  catalogue = other;
}

/**
 * A sentence. What is put in has no markup: it is text for `textContent`, never HTML.
 * @param {string} sentence in English, with places such as `%(name)s`
 * @param {Values} [values] for each place
 */
export function t(sentence, values) {
  return filled(entry(sentence) ?? sentence, values);
}

/**
 * A short word that other languages say in several ways.
 * @param {string} context where it stands, for translators
 * @param {string} word in English
 */
export function tc(context, word) {
  return entry(context + CONTEXT_END + word) ?? word;
}

/**
 * A sentence about a number of things; `%(n)s` is the number.
 * @param {string} one in English
 * @param {string} many in English
 * @param {number} n
 * @param {Values} [values]
 */
export function tn(one, many, n, values) {
  const forms = Object.hasOwn(catalogue.entries, one) ? catalogue.entries[one] : undefined;
  const form = Array.isArray(forms) ? /** @type {string | undefined} */ (forms[catalogue.plural(n)]) : undefined;
  return filled(form ?? (n === 1 ? one : many), { n, ...values });
}

/**
 * A number as the page's language writes it, not the browser's.
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 */
export function number(value, options) {
  return (options ? new Intl.NumberFormat(LANGUAGE, options) : plainNumber).format(value);
}

/** A moment in the person's time zone. @param {string | number} at in ISO 8601, or milliseconds */
export function moment(at) {
  return time.format(new Date(at));
}

/** @param {string} [timeZone] what the person chose; otherwise the browser's, also where that does not know theirs */
function times(timeZone) {
  try {
    return new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short", timeZone });
  } catch {
    return times();
  }
}

/** @param {string} key */
function entry(key) {
  const found = Object.hasOwn(catalogue.entries, key) ? catalogue.entries[key] : undefined;
  return typeof found === "string" ? found : undefined;
}

/** @param {string} text @param {Values} [values] */
function filled(text, values = {}) {
  return text.replace(NAME, (place, name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return typeof value === "number" ? number(value) : (value ?? place);
  });
}
