import assert from "node:assert/strict";
import { test } from "node:test";
import { dayGroup } from "../../static/js/models/day-groups.js";
import { thoughtText, workingText } from "../../static/js/timing/elapsed.js";

test("the working line shows whole seconds, then minutes", () => {
  assert.equal(workingText(0), "Working…");
  assert.equal(workingText(999), "Working…");
  assert.equal(workingText(1000), "Working… 1 s");
  assert.equal(workingText(59_999), "Working… 59 s");
  assert.equal(workingText(125_000), "Working… 2 min 5 s");
});

test("the time of hidden work is shown in whole seconds, and less than one is a moment", () => {
  assert.equal(thoughtText(0), "Thought for a moment");
  assert.equal(thoughtText(1), "Thought for 1 s");
  assert.equal(thoughtText(59), "Thought for 59 s");
  assert.equal(thoughtText(125), "Thought for 2 min 5 s");
});

test("a clock that was set back shows no negative time", () => {
  assert.equal(workingText(-5000), "Working…");
});

test("conversations are grouped by the reader's calendar days, not by hours", () => {
  const now = new Date(2026, 10, 20, 0, 30);
  assert.equal(dayGroup(new Date(2026, 10, 20, 0, 1), now), "Today");
  assert.equal(dayGroup(new Date(2026, 10, 19, 23, 59), now), "Yesterday");
  assert.equal(dayGroup(new Date(2026, 10, 18, 23, 59), now), "Earlier");
});

test("yesterday is right on the first day of a month", () => {
  assert.equal(dayGroup(new Date(2026, 9, 31, 12), new Date(2026, 10, 1, 12)), "Yesterday");
});

test("a conversation from a server whose clock is ahead stands under today", () => {
  assert.equal(dayGroup(new Date(2026, 10, 21, 8), new Date(2026, 10, 20, 23, 59)), "Today");
});
