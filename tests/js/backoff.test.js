import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../static/js/timing/backoff.js";

test("each wait is about twice the one before, up to a limit", () => {
  const backoff = new Backoff(() => 1);
  const waits = Array.from({ length: 9 }, () => backoff.next());
  assert.deepEqual(waits.slice(0, 5), [500, 1000, 2000, 4000, 5000]);
  assert.equal(waits.at(-1), 5_000);
});

test("chance spreads a wait over half of its length", () => {
  assert.equal(new Backoff(() => 0).next(), 250);
  assert.equal(new Backoff(() => 1).next(), 500);
});

test("after a success it begins anew", () => {
  const backoff = new Backoff(() => 1);
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 500);
});
