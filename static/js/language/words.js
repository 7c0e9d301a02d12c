// Translates the texts of scripts into the language of the page. The scripts contain the English texts; other languages
// come from a catalogue, a module that the page loads before its own.

/** @typedef {Readonly<Record<string, string | number>>} Values numbers are formatted for the language */

/**
 * @typedef {object} Catalogue generated from chatui/locale by `make messages`
 * @property {(n: number) => number} plural the plural form for a number
 * @property {Readonly<Record<string, string | readonly string[]>>} entries translations by English text
 */

/** The code of the page's language, as the server names it. */
export const LANGUAGE = globalThis.document?.documentElement.lang.toLowerCase() || "en";
const FORM = globalThis.document?.documentElement.dataset.timeForm ?? "j M Y, H:i e";
const time = times(globalThis.document?.documentElement.dataset.timeZone);
/** Separates a context from its word, as in gettext. */
const CONTEXT_END = "\u0004";
const NAME = /%\((\w+)\)s/g;

/** @type {Catalogue} */
let catalogue = { plural: () => 0, entries: {} };

/** Use another language from now on. @param {Catalogue} other */
export function useCatalogue(other) {
  catalogue = other;
}

/**
 * Translate a sentence. The result is text for `textContent`, never HTML.
 * @param {string} sentence in English, with placeholders such as `%(name)s`
 * @param {Values} [values] for each placeholder
 */
export function t(sentence, values) {
  return filled(entry(sentence) ?? sentence, values);
}

/**
 * Translate a short word that has several translations.
 * @param {string} context where the word appears, for translators
 * @param {string} word in English
 */
export function tc(context, word) {
  return entry(context + CONTEXT_END + word) ?? word;
}

/**
 * Translate a sentence with a count; `%(n)s` is the count.
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
 * Format a number for the page's language, not the browser's.
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 */
export function number(value, options) {
  return value.toLocaleString(LANGUAGE, options);
}

/** Write a time as the server does, in the person's zone. @param {string | number} at in ISO 8601, or milliseconds */
export function moment(at) {
  const parts = time.formatToParts(new Date(at)).map(({ type, value }) => [type, value]);
  const { day, month, year, hour, minute, timeZoneName: zone } = Object.fromEntries(parts);
  /** @type {Record<string, string>} */
  const written = {
    d: day.padStart(2, "0"), j: day, m: month.padStart(2, "0"), n: month, M: month, Y: year, H: hour, i: minute,
    e: zone.replace(/^GMT(\+0$)?/, "UTC"),
  };
  return FORM.replace(/[a-z]/gi, (letter) => written[letter] ?? letter);
}

/** @param {string} [timeZone] the person's choice; by default, or if the browser does not know it, the browser's */
function times(timeZone) {
  try {
    return new Intl.DateTimeFormat("en-US", {
      day: "numeric", month: FORM.includes("M") ? "short" : "numeric", year: "numeric",
      hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone, timeZoneName: "shortOffset",
    });
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
