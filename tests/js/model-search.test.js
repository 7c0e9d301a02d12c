import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { matching } from "../../static/js/chat/model-search.js";

const offers = ["Gateway · openai/gpt-oss-120b", "Gateway · openai/gpt-oss-20b", "House · llama"].map((text) => ({ text }));

test("a search finds the names that hold each of its words, in any order and case", () => {
  const found = (/** @type {string} */ search) => matching(offers, search).map(({ text }) => text);
  assert.deepEqual(found("20B gpt"), ["Gateway · openai/gpt-oss-120b", "Gateway · openai/gpt-oss-20b"]);
  assert.deepEqual(found("oss-20"), ["Gateway · openai/gpt-oss-20b"]);
  assert.deepEqual(found("llama"), ["House · llama"]);
  assert.deepEqual(found("nothing"), []);
  assert.equal(found("  ").length, 3);
});
