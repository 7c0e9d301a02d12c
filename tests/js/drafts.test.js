import assert from "node:assert/strict";
import { test } from "node:test";
import { Drafts } from "../../static/js/models/drafts.js";
import { MemoryStorage } from "./memory-storage.js";

test("a draft is there again after a reload", () => {
  const storage = new MemoryStorage();
  new Drafts(storage, "ada").keep("c1", "half a thought");
  assert.deepEqual(new Drafts(storage, "ada").load("c1"), { text: "half a thought", clientId: null });
});

test("each conversation has its own draft, and so has the one that has not started yet", () => {
  const drafts = new Drafts(new MemoryStorage(), "ada");
  drafts.keep("c1", "one");
  drafts.keep(null, "new");
  assert.equal(drafts.load("c1").text, "one");
  assert.equal(drafts.load(null).text, "new");
  assert.equal(drafts.load("c2").text, "");
});

test("a text that was sent without an answer keeps the id under which it was sent", () => {
  const drafts = new Drafts(new MemoryStorage(), "ada");
  drafts.keep("c1", "sent", "id-1");
  assert.deepEqual(drafts.load("c1"), { text: "sent", clientId: "id-1" });
});

test("another person at the same browser does not see it", () => {
  const storage = new MemoryStorage();
  new Drafts(storage, "ada").keep(null, "private");
  assert.equal(new Drafts(storage, "ben").load(null).text, "");
});

test("signing out forgets all drafts and nothing else", () => {
  const storage = new MemoryStorage();
  storage.setItem("chatui:theme", "dark");
  const drafts = new Drafts(storage, "ada");
  drafts.keep(null, "a");
  drafts.keep("c1", "b");
  new Drafts(storage, "ben").keep("c2", "c");
  drafts.forgetAll();
  assert.equal(storage.length, 1);
  assert.equal(storage.getItem("chatui:theme"), "dark");
  drafts.keep("c1", "written by a tab that is still open");
  assert.equal(storage.length, 1);
});

test("an empty text is no draft", () => {
  const storage = new MemoryStorage();
  const drafts = new Drafts(storage, "ada");
  drafts.keep("c1", "text");
  drafts.keep("c1", "");
  assert.equal(storage.length, 0);
});

test("a forbidden, full or damaged storage never throws", () => {
  const refusing = () => {
    throw new Error("quota");
  };
  const full = { length: 0, key: refusing, getItem: refusing, setItem: refusing, removeItem: refusing };
  for (const storage of [null, full]) {
    const drafts = new Drafts(storage, "ada");
    drafts.keep("c1", "text");
    drafts.clear("c1");
    drafts.forgetAll();
    assert.equal(drafts.load("c1").text, "");
  }
  const damaged = new MemoryStorage();
  damaged.setItem("chatui:draft:ada:c1", "{broken");
  damaged.setItem("chatui:draft:ada:c2", '{"text": 7}');
  assert.equal(new Drafts(damaged, "ada").load("c1").text, "");
  assert.equal(new Drafts(damaged, "ada").load("c2").text, "");
});
