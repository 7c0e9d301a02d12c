import assert from "node:assert/strict";
import { test } from "node:test";
import { problemWith, isSendKey } from "../../static/js/models/typing.js";

const ENTER = { key: "Enter", shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, isComposing: false };

test("Enter sends, and so does Ctrl+Enter", () => {
  assert.equal(isSendKey(ENTER), true);
  assert.equal(isSendKey({ ...ENTER, ctrlKey: true }), true);
});

test("Shift+Enter and Alt+Enter break the line", () => {
  assert.equal(isSendKey({ ...ENTER, shiftKey: true }), false);
  assert.equal(isSendKey({ ...ENTER, altKey: true }), false);
});

test("Enter that confirms a word in an input method does not send", () => {
  assert.equal(isSendKey({ ...ENTER, isComposing: true }), false);
  assert.equal(isSendKey({ ...ENTER, keyCode: 229 }), false);
});

test("other keys do not send", () => {
  assert.equal(isSendKey({ ...ENTER, key: "a" }), false);
});

test("a text up to the limit can be sent", () => {
  assert.equal(problemWith("x".repeat(10), 10), null);
  assert.equal(problemWith("", 10), null);
});

test("a longer one cannot, and the sentence says by how much", () => {
  assert.equal(problemWith("x".repeat(1310), 1000), "This message is 310 characters too long. The limit is 1,000 characters.");
});

test("characters are counted as the server counts them, not in halves", () => {
  assert.equal(problemWith("😀".repeat(10), 10), null);
  assert.match(problemWith("😀".repeat(11), 10) ?? "", /is 1 character too long/);
});
