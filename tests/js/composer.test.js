import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { contextText } from "../../static/js/composer/composer.js";

test("what is not known is not shown", () => {
  assert.equal(contextText(0, 0), "");
});

test("how full it is, and what is left out, are shown in words", () => {
  const full = "About 60% of what the model can read at once";
  assert.equal(contextText(60, 0), full);
  assert.equal(contextText(60, 1), `Oldest question left out · ${full}`);
  assert.equal(contextText(0, 12), "Oldest 12 questions left out");
});
