import assert from "node:assert/strict";
import { test } from "node:test";
import { Expander } from "../../static/js/wire/compact.js";
import { readFrame } from "../../static/js/wire/protocol.js";

const FULL = { type: "response.delta", turn: "t", sequence_number: 1, message_id: "m", block: 2, html: "<p>one</p>" };

/** @param {unknown[]} events */
function read(...events) {
  return readFrame(JSON.stringify(events), new Expander());
}

test("a short event is the difference to the block before", () => {
  const [, second, third] = read(FULL, [2, 4, " two"], [3, 4, "2, 3", 3]);
  assert.deepEqual(second, { ...FULL, sequence_number: 2, html: "<p>one two</p>" });
  assert.deepEqual(third, { ...FULL, sequence_number: 3, html: "<p>one 2, 3</p>" });
});

test("an insertion at the very end", () => {
  assert.deepEqual(read(FULL, [2, 0, "<hr>"])[1], { ...FULL, sequence_number: 2, html: "<p>one</p><hr>" });
});

test("a short event may close its block, and is then about nothing any more", () => {
  const events = read(FULL, [2, 4, " two", 0, 1], [3, 4, " three"]);
  const closed = { type: "response.delta.flush", turn: "t", sequence_number: 2, message_id: "m", block: 2, html: "<p>one two</p>" };
  assert.deepEqual(events.slice(1), [closed]);
});

test("the block behind it stands without what is known of it, whether it was closed or not", () => {
  const next = { ...FULL, sequence_number: 3, block: 3, html: "<p>three</p>" };
  assert.deepEqual(read(FULL, [2, 4, " two", 0, 1], [3, -1, "<p>three</p>"])[2], next);
  const events = read(FULL, [3, -1, "<p>three</p>"], [4, 4, "!"]);
  assert.deepEqual(events.slice(1), [next, { ...next, sequence_number: 4, html: "<p>three!</p>" }]);
  assert.deepEqual(read([3, -1, "<p>three</p>"]), []);
});

test("more text of a code block", () => {
  const { html, ...named } = FULL;
  assert.equal(html, "<p>one</p>");
  assert.deepEqual(read(FULL, [2, "more"], [3, "text"]).slice(1), [
    { ...named, sequence_number: 2, text: "more" },
    { ...named, sequence_number: 3, text: "text" },
  ]);
});

test("after text, a difference has nothing to be applied to", () => {
  assert.equal(read(FULL, [2, "more"], [3, 4, " two"]).length, 2);
});

test("characters beyond the basic plane count twice, as they do in a string here", () => {
  assert.deepEqual(read({ ...FULL, html: "<p>🐈</p>" }, [2, 4, "!", 2])[1], { ...FULL, sequence_number: 2, html: "<p>!</p>" });
});

test("without a block in full there is nothing to say", () => {
  assert.deepEqual(read([1, 4, "x"], [2, "x"]), []);
  assert.deepEqual(read(FULL, { type: "chatui:working", turn: "t", sequence_number: 2, elapsed: 1, can_answer_now: false }, [3, 4, "x"]).length, 2);
});

test("what is no short event is left out", () => {
  for (const odd of [[], [2], [2, {}], [2, 4, 7], [2, "4", "x", 1], [2, null, "x"], [2, -1, 7]]) assert.equal(read(FULL, odd).length, 1);
});

test("a beat in a silence leaves the block open that the next short event is about", () => {
  const beat = { type: "chatui:beat", turn: "t", sequence_number: 1 };
  assert.deepEqual(read(FULL, beat, [2, 4, " two"])[2], { ...FULL, sequence_number: 2, html: "<p>one two</p>" });
});
