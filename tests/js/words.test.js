import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { refusal } from "../../static/js/language/refusals.js";
import { LANGUAGE, number, useCatalogue, t, tc, tn } from "../../static/js/language/words.js";

const NOTHING = { plural: () => 0, entries: {} };

/** A rule with six forms, as Arabic has it. @param {number} n */
const sixForms = (n) =>
  n === 0 ? 0 : n === 1 ? 1 : n === 2 ? 2 : n % 100 >= 3 && n % 100 <= 10 ? 3 : n % 100 >= 11 ? 4 : 5;

afterEach(() => useCatalogue(NOTHING));

test("without a catalogue a sentence is shown in English", () => {
  assert.equal(LANGUAGE, "en");
  assert.equal(t("Saved."), "Saved.");
  assert.equal(tc("button", "Reload"), "Reload");
  assert.equal(tn("%(n)s result", "%(n)s results", 1), "1 result");
  assert.equal(tn("%(n)s result", "%(n)s results", 0), "0 results");
});

test("values go into their places, numbers as the language writes them", () => {
  assert.equal(t("%(b)s before %(a)s", { a: "one", b: 12345 }), "12,345 before one");
  assert.equal(number(0.5, { style: "percent" }), "50%");
});

test("what is put in is not read again, and a place without a value stays as it is", () => {
  assert.equal(t("Deleted “%(title)s”.", { title: "%(title)s $& <b>" }), "Deleted “%(title)s $& <b>”.");
  assert.equal(t("%(missing)s %(toString)s"), "%(missing)s %(toString)s");
});

test("a catalogue is used, and what it lacks is shown in English", () => {
  useCatalogue({ plural: () => 0, entries: { "Saved.": "Gespeichert.", "button\u0004Reload": "Neu laden" } });
  assert.equal(t("Saved."), "Gespeichert.");
  assert.equal(t("Copied"), "Copied");
  assert.equal(tc("button", "Reload"), "Neu laden");
  assert.equal(tc("menu", "Reload"), "Reload");
  assert.equal(tn("%(n)s result", "%(n)s results", 2), "2 results");
  assert.equal(t("constructor"), "constructor");
});

test("German has a form for one and one for the others", async () => {
  await import("../../static/js/language/catalogues/de.js?as-german");
  const results = (/** @type {number} */ n) => tn("%(n)s result", "%(n)s results", n);
  assert.deepEqual([0, 1, 2].map(results), ["0 Ergebnisse", "1 Ergebnis", "2 Ergebnisse"]);
  assert.equal(refusal("E-X-UNHEARD-OF"), "Der Server hat das abgelehnt (E-X-UNHEARD-OF). Laden Sie die Seite neu.");
});

test("Korean and Chinese have one form", async () => {
  const results = (/** @type {number} */ n) => tn("%(n)s result", "%(n)s results", n);
  await import("../../static/js/language/catalogues/ko.js?as-korean");
  assert.deepEqual([0, 1, 2].map(results), ["결과 0개", "결과 1개", "결과 2개"]);
  await import("../../static/js/language/catalogues/zh-hans.js?as-chinese");
  assert.deepEqual([0, 1, 2].map(results), ["0 个结果", "1 个结果", "2 个结果"]);
});

test("a language may have six forms", () => {
  const forms = ["none", "one", "two", "few", "many", "other"].map((name) => `${name} %(n)s`);
  useCatalogue({ plural: sixForms, entries: { "%(n)s result": forms } });
  const shown = [0, 1, 2, 3, 11, 100].map((n) => tn("%(n)s result", "%(n)s results", n));
  assert.deepEqual(shown, ["none 0", "one 1", "two 2", "few 3", "many 11", "other 100"]);
});

test("a form that is missing is shown in English", () => {
  useCatalogue({ plural: () => 3, entries: { "%(n)s result": ["one %(n)s"] } });
  assert.equal(tn("%(n)s result", "%(n)s results", 5), "5 results");
});

test("a time is written in the form and the zone that the page names, as the server writes it", async () => {
  /** @type {[string, string, string][]} */
  const pages = [
    ["j M Y, H:i e", "Asia/Kolkata", "6 Sep 2026, 00:04 UTC+5:30"],
    ["j M Y, H:i e", "America/Phoenix", "5 Sep 2026, 11:34 UTC-7"],
    ["d.m.Y, H:i e", "UTC", "05.09.2026, 18:34 UTC"],
    ["Y년 n월 j일, H:i e", "Asia/Seoul", "2026년 9월 6일, 03:34 UTC+9"],
  ];
  for (const [timeForm, timeZone, written] of pages) {
    Object.assign(globalThis, { document: { documentElement: { lang: "de", dataset: { timeForm, timeZone } } } });
    const { moment } = await import(`../../static/js/language/words.js?${encodeURIComponent(timeForm + timeZone)}`);
    assert.equal(moment("2026-09-05T18:34:09Z"), written);
  }
  Reflect.deleteProperty(globalThis, "document");
});

test("a refusal is shown by its code, also one that the page does not know", () => {
  assert.equal(refusal("E-X-BUSY"), "An answer is still being written in this conversation.");
  assert.equal(refusal("toString"), "The server refused this (toString). Reload the page.");
});
