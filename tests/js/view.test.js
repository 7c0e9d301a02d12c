import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { remainingText } from "../../static/js/debug/view.js";

test("the remaining time is shown in fitting words", () => {
  const minute = 60_000;
  const shown = [192 * minute, 120 * minute, 61 * minute, 60 * minute, 14.5 * minute, 59_001, 59_000, 400, 0, -5].map(remainingText);
  assert.deepEqual(shown, [
    "Closes in 3 h 12 min",
    "Closes in 2 h",
    "Closes in 1 h 1 min",
    "Closes in 1 h",
    "Closes in 15 min",
    "Closes in 1 min",
    "Closes in 59 s",
    "Closes in 1 s",
    "Closed",
    "Closed",
  ]);
});
