import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { Announcements } from "../../static/js/chat/server-events.js";

test("a turn is announced in two sentences, each once", () => {
  const announcements = new Announcements();
  const moments = /** @type {const} */ (["thinking", "thinking", "ready", "thinking", "ready"]);
  assert.deepEqual(
    moments.map((moment) => announcements.say("t", moment)),
    ["Thinking", null, "Answer ready", null, null],
  );
});

test("a turn ends once: stopped and ready are not both announced", () => {
  const announcements = new Announcements();
  assert.equal(announcements.say("t", "stopped"), "Stopped");
  assert.equal(announcements.say("t", "ready"), null);
});

test("a problem is announced in the server's words", () => {
  assert.equal(new Announcements().say("t", "problem", "The model server took too long."), "The model server took too long.");
  assert.equal(new Announcements().say("t", "problem"), "The answer was not finished");
});

test("another turn is announced again", () => {
  const announcements = new Announcements();
  announcements.say("a", "thinking");
  assert.equal(announcements.say("b", "thinking"), "Thinking");
});
