import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import "./page.js";
import { Elsewhere } from "../../static/js/page/find-bar.js";

/** The ids of the messages on the page. @type {string[]} */
let loaded = [];

beforeEach(() => {
  const document = {
    getElementById: (/** @type {string} */ id) => (loaded.includes(id) ? {} : null),
    querySelector: (/** @type {string} */ selector) => (selector === "[data-more='earlier']" ? {} : null),
  };
  Object.assign(globalThis, { document });
});

test("the next match is the nearest in that direction, then the first from the other end", () => {
  loaded = ["m-c", "m-d"];
  const around = new Elsewhere(["a", "b", "c", "d", "e", "f"]);
  assert.deepEqual([around.next(1), around.next(-1)], ["e", "b"]);
  const above = new Elsewhere(["a", "b", "c"]);
  assert.deepEqual([above.next(1), above.next(-1)], ["a", "b"]);
  const below = new Elsewhere(["d", "e", "f"]);
  assert.deepEqual([below.next(1), below.next(-1)], ["e", "f"]);
});

test("both directions lead to the only match, which is above", () => {
  loaded = ["m-z"];
  const above = new Elsewhere(["a"]);
  assert.equal(above.sentence(-1, 0), "No match in this part. Messages above: 1.");
  assert.deepEqual([above.next(1), above.next(-1)], ["a", "a"]);
});

test("a page with all matches leads nowhere else", () => {
  loaded = ["m-a"];
  assert.deepEqual([new Elsewhere(["a"]).next(1), new Elsewhere([]).next(-1)], [null, null]);
});
