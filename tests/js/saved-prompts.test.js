import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { blanksOf, filledIn } from "../../static/js/composer/prompt-blanks.js";
import { matching } from "../../static/js/composer/saved-prompts.js";

test("words find the names that have a word beginning with each of them, and parts of words without spaces", () => {
  const prompts = ["Short summary", "Etch a sketch", "회의록요약하기", "Größe prüfen"].map((name) => ({ name }));
  const found = (/** @type {string} */ typed) => matching(prompts, typed).map(({ name }) => name);
  assert.deepEqual(found("SUM sh"), ["Short summary"]);
  assert.deepEqual(found("ketch"), []);
  assert.deepEqual(found("요약"), ["회의록요약하기"]);
  assert.deepEqual(found("größe"), ["Größe prüfen"]);
  assert.equal(found("").length, 4);
});

test("blanks are names in double braces, each once, with the choices that one of them lists", () => {
  const text = "Make {{text}} {{ tone: formal | friendly }}, {{tone}}, by {{date}} for {{나라 이름}}.";
  assert.deepEqual(blanksOf(text), [
    { name: "text", choices: [] },
    { name: "tone", choices: ["formal", "friendly"] },
    { name: "date", choices: [] },
    { name: "나라 이름", choices: [] },
  ]);
});

test("what stands in braces in another way is text", () => {
  for (const text of ["{{}}", "{{ a.b() }}", "{text}", "{{#each items}}", "{{1}}", "{{a\nb}}", `{{${"x".repeat(41)}}}`]) {
    assert.deepEqual(blanksOf(text), [], text);
    assert.equal(filledIn(text, new Map([["a", "b"]])), text);
  }
});

test("a value fills in each place of its blank, and blanks in it stay", () => {
  const values = new Map([["text", "$& {{tone}}"], ["tone", ""]]);
  assert.equal(filledIn("{{text}}, {{ text }}; {{tone: a | b}}!", values), "$& {{tone}}, $& {{tone}}; !");
});

test("a text with more blanks than a form has keeps the others as text", () => {
  const text = Array.from({ length: 25 }, (_, index) => `{{n${index}}}`).join("");
  const blanks = blanksOf(text);
  assert.equal(blanks.length, 20);
  assert.match(filledIn(text, new Map(blanks.map(({ name }) => [name, "x"]))), /^x{20}\{\{n20\}\}/);
});
