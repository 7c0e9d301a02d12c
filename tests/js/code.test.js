import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf } from "../../static/js/page/code.js";

test("the language is read from the class name", () => {
  assert.equal(languageOf("language-Python"), "python");
  assert.equal(languageOf("x language-c++ y"), "c++");
  assert.equal(languageOf("python"), null);
  assert.equal(languageOf(""), null);
});
