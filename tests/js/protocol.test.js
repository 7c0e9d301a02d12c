import assert from "node:assert/strict";
import { test } from "node:test";
import { isDebugPageEvent, isEndUserEvent, isTurnEvent, readFrame, Sequence } from "../../static/js/wire/protocol.js";

const DELTA = { type: "response.delta", turn: "t", sequence_number: 1, message_id: "m", block: 0, html: "<p>a</p>" };
const SNAPSHOT = { type: "chatui:snapshot", turn: "t", sequence_number: 4, elapsed: 9, working: true, steps: [], messages: [], place: 0,
  can_answer_now: true, calls_wait: 0, files: 0 };
const TITLE = { type: "chatui:title", conversation: "c", title: "A title" };

test("a frame is an array of events", () => {
  assert.deepEqual(readFrame(JSON.stringify([DELTA, TITLE])), [DELTA, TITLE]);
});

test("what is no JSON array of objects gives no events", () => {
  for (const frame of ["", "{", "null", "7", '"text"', JSON.stringify(DELTA), "[null, 7, []]"]) assert.deepEqual(readFrame(frame), []);
});

test("an event of an unknown type is left out, its neighbours are not", () => {
  assert.deepEqual(readFrame(JSON.stringify([{ type: "execute", code: "1" }, TITLE])), [TITLE]);
});

test("a type named like a property of every object is unknown too", () => {
  assert.deepEqual(readFrame('[{"type": "constructor"}, {"type": "__proto__"}, {"type": "toString"}]'), []);
});

test("an event without one of its texts is left out", () => {
  assert.deepEqual(readFrame(JSON.stringify([{ ...TITLE, title: undefined }])), []);
  assert.deepEqual(readFrame(JSON.stringify([{ type: "response.delta.flush", turn: "t", sequence_number: 2, message_id: "m", block: 0, html: { evil: 1 } }])), []);
});

test("a line of a summary is an event of its turn, and only with its sentences", () => {
  const line = { sentences: { en: "Comparing {} and {}" }, about: ["trains", "buses"] };
  const step = { type: "chatui:summary", turn: "t", sequence_number: 1, line };
  const [event] = readFrame(JSON.stringify([step]));
  assert.ok(event);
  assert.equal(isTurnEvent(event), true);
  for (const wrong of [undefined, "Comparing"]) assert.deepEqual(readFrame(JSON.stringify([{ ...step, line: wrong }])), []);
});

test("a message that is of another kind after all is an event of its turn, and only with its kind", () => {
  const label = { type: "chatui:relabelled", turn: "t", sequence_number: 1, message_id: "m", kind: "preamble" };
  const [event] = readFrame(JSON.stringify([label]));
  assert.ok(event);
  assert.equal(isTurnEvent(event), true);
  assert.deepEqual(readFrame(JSON.stringify([{ ...label, kind: 7 }])), []);
});

test("a message that is withdrawn is an event of its turn, and only with its name", () => {
  const withdrawn = { type: "chatui:withdrawn", turn: "t", sequence_number: 1, message_id: "m" };
  const [event] = readFrame(JSON.stringify([withdrawn]));
  assert.ok(event);
  assert.equal(isTurnEvent(event), true);
  assert.deepEqual(readFrame(JSON.stringify([{ ...withdrawn, message_id: 7 }])), []);
});

test("steps of a turn are numbered, replies and snapshots are not", () => {
  const [delta, title] = readFrame(JSON.stringify([DELTA, TITLE]));
  assert.ok(delta && title);
  assert.equal(isTurnEvent(delta), true);
  assert.equal(isTurnEvent(title), false);
  const [snapshot] = readFrame(JSON.stringify([SNAPSHOT]));
  assert.ok(snapshot);
  assert.equal(isTurnEvent(snapshot), false);
});

test("each field that an event always has must be there in its own type", () => {
  assert.equal(readFrame(JSON.stringify([SNAPSHOT])).length, 1, "the premise");
  for (const [name, wrong] of [["elapsed", "9"], ["working", 1], ["steps", {}], ["sequence_number", null], ["turn", 7]]) {
    assert.deepEqual(readFrame(JSON.stringify([{ ...SNAPSHOT, [String(name)]: wrong }])), [], String(name));
  }
});

test("a growing block brings HTML or text, and something of the two", () => {
  const { html: _, ...bare } = DELTA;
  assert.equal(readFrame(JSON.stringify([{ ...bare, text: "a" }])).length, 1);
  assert.deepEqual(readFrame(JSON.stringify([bare])), []);
});

test("what only the debug view is sent is no event of the conversation's page", () => {
  const frame = { type: "chatui:frame.delta", turn: "t", sequence_number: 1, message_id: "m", text: "hidden" };
  const [hidden, delta, title] = readFrame(JSON.stringify([frame, DELTA, TITLE]));
  assert.ok(hidden && delta && title);
  assert.deepEqual([hidden, delta, title].map(isEndUserEvent), [false, true, true]);
  assert.deepEqual([hidden, delta, title].map(isDebugPageEvent), [true, false, true]);
});

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
