import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { Outbox } from "../../static/js/chat/commands.js";

/** @param {string} id @returns {import("../../static/js/wire/wire.js").Send} */
const send = (id) => ({ type: "send", client_id: id, conversation: null, text: id, effort: "low", choice: null });

test("what was not answered is asked again, oldest first, under the same id", () => {
  const outbox = new Outbox();
  outbox.add(send("a"));
  outbox.add(send("b"));
  assert.deepEqual(outbox.waiting().map((command) => command.client_id), ["a", "b"]);
});

test("what was answered is not asked again", () => {
  const outbox = new Outbox();
  outbox.add(send("a"));
  assert.deepEqual(outbox.settle("a"), send("a"));
  assert.equal(outbox.size, 0);
});

test("an answer to another tab's question settles nothing", () => {
  const outbox = new Outbox();
  outbox.add(send("a"));
  assert.equal(outbox.settle("z"), undefined);
  assert.equal(outbox.settle(undefined), undefined);
  assert.equal(outbox.size, 1);
});

test("asking the same again waits once", () => {
  const outbox = new Outbox();
  outbox.add(send("a"));
  outbox.add(send("a"));
  assert.equal(outbox.size, 1);
});
