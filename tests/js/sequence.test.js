import assert from "node:assert/strict";
import { test } from "node:test";
import { Sequence } from "../../static/js/wire/sequence.js";

test("events of a turn that began here are applied in order", () => {
  const sequence = new Sequence();
  assert.equal(sequence.admit("t", 1, true), "apply");
  assert.equal(sequence.admit("t", 2), "apply");
  assert.equal(sequence.admit("t", 3), "apply");
});

test("an event that was seen already is dropped", () => {
  const sequence = new Sequence();
  sequence.admit("t", 1, true);
  sequence.admit("t", 2);
  assert.equal(sequence.admit("t", 2), "drop");
  assert.equal(sequence.admit("t", 1, true), "drop");
});

test("an event after a missing one is a gap, until a snapshot closes it", () => {
  const sequence = new Sequence();
  sequence.admit("t", 1, true);
  assert.equal(sequence.admit("t", 3), "gap");
  assert.equal(sequence.admit("t", 4), "gap");
  sequence.resume("t", 4);
  assert.equal(sequence.admit("t", 4), "drop");
  assert.equal(sequence.admit("t", 5), "apply");
});

test("no event follows a snapshot of stored text, not even the turn's first one", () => {
  const sequence = new Sequence();
  sequence.resume("t", -1);
  assert.equal(sequence.admit("t", 1, true), "gap");
  assert.equal(sequence.admit("t", 2), "gap");
  assert.equal(sequence.lacks("t", 1), true);
});

test("a turn of which nothing is known is a gap unless the event begins it", () => {
  assert.equal(new Sequence().admit("t", 7), "gap");
  assert.equal(new Sequence().admit("t", 1, true), "apply");
});

test("turns are counted apart from each other", () => {
  const sequence = new Sequence();
  sequence.admit("a", 1, true);
  sequence.admit("b", 1, true);
  assert.equal(sequence.admit("a", 2), "apply");
  assert.equal(sequence.admit("b", 2), "apply");
});

test("an event without a number is always applied", () => {
  assert.equal(new Sequence().admit("t", undefined), "apply");
});
