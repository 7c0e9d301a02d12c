import assert from "node:assert/strict";
import { test } from "node:test";
import { isTurnEvent, readFrame } from "../../static/js/models/protocol.js";

const DELTA = { type: "response.delta", turn: "t", message_id: "m", block: 0, html: "<p>a</p>" };
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
  assert.deepEqual(readFrame(JSON.stringify([{ type: "response.delta.flush", turn: "t", message_id: "m", block: 0, html: { evil: 1 } }])), []);
});

test("a line of a summary is an event of its turn, and only with its text", () => {
  const [step] = readFrame('[{"type": "chatui:summary", "turn": "t", "text": "Compared ways"}, {"type": "chatui:summary", "turn": "t"}]');
  assert.ok(step);
  assert.equal(isTurnEvent(step), true);
  assert.equal(readFrame('[{"type": "chatui:summary", "turn": "t"}]').length, 0);
});

test("a message that is of another kind after all is an event of its turn, and only with its kind", () => {
  const label = { type: "chatui:relabelled", turn: "t", message_id: "m", kind: "preamble" };
  const [event] = readFrame(JSON.stringify([label]));
  assert.ok(event);
  assert.equal(isTurnEvent(event), true);
  assert.deepEqual(readFrame(JSON.stringify([{ ...label, kind: 7 }])), []);
});

test("steps of a turn are numbered, replies and snapshots are not", () => {
  const [delta, title] = readFrame(JSON.stringify([DELTA, TITLE]));
  assert.ok(delta && title);
  assert.equal(isTurnEvent(delta), true);
  assert.equal(isTurnEvent(title), false);
  const [snapshot] = readFrame('[{"type": "chatui:snapshot", "turn": "t", "sequence_number": 4, "messages": []}]');
  assert.ok(snapshot);
  assert.equal(isTurnEvent(snapshot), false);
});
