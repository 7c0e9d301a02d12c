import assert from "node:assert/strict";
import { test } from "node:test";
import { thoughtText, timeText } from "../../static/js/exchange/thinking.js";

test("the working line shows whole seconds, then minutes", () => {
  assert.equal(timeText(999), "");
  assert.equal(timeText(1000), " · 1 s");
  assert.equal(timeText(59_999), " · 59 s");
  assert.equal(timeText(125_000), " · 2 min 5 s");
});

test("the time of hidden work is shown in whole seconds, and less than one is a moment", () => {
  assert.equal(thoughtText(0), "Thought for a moment");
  assert.equal(thoughtText(1), "Thought for 1 s");
  assert.equal(thoughtText(59), "Thought for 59 s");
  assert.equal(thoughtText(125), "Thought for 2 min 5 s");
});

test("a clock that was set back shows no negative time", () => {
  assert.equal(timeText(-5000), "");
});
