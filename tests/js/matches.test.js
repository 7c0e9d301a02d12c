import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_MATCHES, foundText, placesOf, placesOfWords, nextMatch } from "../../static/js/page/matches.js";

test("a word is found whatever its case, and nothing where nothing is wanted", () => {
  assert.deepEqual(placesOf("The plan. A PLAN, unplanned", "plan"), [[4, 8], [12, 16], [20, 24]]);
  assert.deepEqual(placesOf("anything", ""), []);
  assert.deepEqual(placesOf("anything", "nothing"), []);
});

test("places are right behind letters that grow when they are made small", () => {
  assert.deepEqual(placesOf("İİ end", "END"), [[3, 6]]);
});

test("signs of a pattern are looked for as they are", () => {
  const signs = "<|end|> a.b (c) [d] {e} \\ ^$ *+? x-y/z";
  for (const wanted of signs.split(" ")) {
    const [place] = placesOf(signs, wanted);
    assert.ok(place, wanted);
    assert.equal(signs.slice(...place), wanted);
  }
  assert.deepEqual(placesOf("axb", "a.b"), []);
});

test("no more places are stored than can be marked", () => {
  assert.equal(placesOf("a".repeat(MAX_MATCHES + 5), "a").length, MAX_MATCHES);
});

test("steps go round in both directions, and nowhere without a match", () => {
  assert.deepEqual([nextMatch(-1, 3, 1), nextMatch(-1, 3, -1), nextMatch(2, 3, 1), nextMatch(0, 3, -1), nextMatch(-1, 0, 1)], [0, 2, 0, 2, -1]);
});

test("search results are shown with the number of visible frames", () => {
  assert.equal(foundText({ wanted: "", matches: 0, current: -1, frames: 8, all: 8 }), "8 frames");
  assert.equal(foundText({ wanted: "", matches: 0, current: -1, frames: 3, all: 8 }), "3 of 8 frames");
  assert.equal(foundText({ wanted: "x", matches: 0, current: -1, frames: 0, all: 8 }), "No match in 0 of 8 frames");
  assert.equal(foundText({ wanted: "x", matches: 1, current: -1, frames: 1, all: 8 }), "1 match in 1 of 8 frames");
  assert.equal(foundText({ wanted: "x", matches: 5, current: 1, frames: 2, all: 8 }), "2 of 5 matches in 2 of 8 frames");
});

test("the words of a search are found as the server finds them", () => {
  /** @type {[string, string, string[]][]} */
  const cases = [
    ["plan", "The planning of a PLAN", ["planning", "PLAN"]],
    ["lanning", "The planning", []],
    ["resume", "His résumé", ["résumé"]],
    ["RÉSUMÉ", "his resume", ["resume"]],
    ["strasse", "Die Straße", ["Straße"]],
    ["name", "my_name = 1", ["name"]],
    ["don't", "I don't", ["don", "t"]],
    ["a", "a cat and a dog", ["a", "a"]],
    ["京都", "東京都庁へ行く", ["京都"]],
    ["東庁", "東京都庁", []],
    ["模型", "GPT模型很大", ["模型"]],
    ["สวัสดี", "เขาพูดว่าสวัสดีครับ", ["สวัสดี"]],
    ["한국", "한국어를 배운다", ["한국어를"]],
    ["شمس", "الشَّمْس شَمْس", ["شَمْس"]],
    ["ガス", "ガスレンジ", ["ガス"]],
    ["donaudampf", "Donau\u00addampf\u00adschiff", ["Donau\u00addampf\u00adschiff"]],
    ["Donau\u00addampf", "das Donaudampfschiff", ["Donaudampfschiff"]],
    ["dampf", "Donau\u00addampf\u00adschiff", ["Donau\u00addampf\u00adschiff"]],
    ["میخواهم", "من می\u200cخواهم", ["می\u200cخواهم"]],
    ["خواهم", "من می\u200cخواهم", ["خواهم"]],
    ["vertrag", "Der Mietvertrag und die Vertragsstrafe", ["Mietvertrag", "Vertragsstrafe"]],
    ["Frist", "Welche Kündigungsfrist?", ["Kündigungsfrist"]],
    ["vertr", "Im Mietvertrag", ["Mietvertrag"]],
    ["ende", "Am Wochenende, wie folgende", ["Wochenende"]],
    ["tag", "Montag", []],
    ["table", "no comfortable one", []],
    ["form", "Information", []],
    ["회의", "정기회의록에서", ["정기회의록에서"]],
    ["회의를", "정기회의록에서", ["정기회의록에서"]],
    ["회의ㄹ", "다음 회의", ["회의"]],
    ["모델", "GPT모델을", ["GPT모델을"]],
    ["고양이", "고양시", []],
    ["물", "물을 선물로", ["물을"]],
    ["launch plan", "a plan without the other", []],
    ["launch plan", "a plan for the launch", ["plan", "launch"]],
  ];
  for (const [typed, text, expected] of cases) {
    const found = placesOfWords(text, typed).map(([start, end]) => text.slice(start, end));
    assert.deepEqual(found, expected, `${typed} in ${text}`);
  }
});
