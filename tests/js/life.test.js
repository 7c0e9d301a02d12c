import "./page.js";
import assert from "node:assert/strict";
import { test } from "node:test";

import { atEnd, endLife, lifeOf } from "../../static/js/page/dom.js";

/** As much of an element as is looked at. @param {object | null} page */
const inPage = (page) => /** @type {Element} */ (/** @type {unknown} */ ({ closest: () => page }));

test("the life of a page ends once, for all that is in it, and not for another page", () => {
  const [one, other] = [/** @type {Element} */ ({}), /** @type {Element} */ ({})];
  const ended = /** @type {string[]} */ ([]);
  atEnd(lifeOf(inPage(one)), () => ended.push("one"));
  atEnd(lifeOf(inPage(other)), () => ended.push("other"));
  assert.equal(lifeOf(inPage(one)), lifeOf(inPage(one)));

  endLife(one);
  endLife(one);

  assert.deepEqual(ended, ["one"]);
  assert.equal(lifeOf(inPage(other)).aborted, false);
});

test("what comes only when the page is over does not begin", () => {
  const page = /** @type {Element} */ ({});
  endLife(page);
  let ended = 0;
  atEnd(lifeOf(inPage(page)), () => (ended += 1));
  assert.ok(lifeOf(inPage(page)).aborted);
  assert.equal(ended, 1);
});
