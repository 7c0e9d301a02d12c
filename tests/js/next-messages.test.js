import assert from "node:assert/strict";
import { test } from "node:test";
import { NextMessages } from "../../static/js/composer/next-messages.js";
import { pageTexts } from "../../static/js/page/storage.js";
import { MemoryStorage } from "./memory-storage.js";

/** @param {string} clientId @returns {import("../../static/js/composer/next-messages.js").NextMessage} */
const message = (clientId) => {
  return { text: "next", effort: "low", choice: "", clientId, state: "waiting", turn: "t1", reason: "", files: [] };
};

test("two tabs cannot both take a message", () => {
  const storage = new MemoryStorage();
  const [one, two] = [new NextMessages(storage, "ada"), new NextMessages(storage, "ada")];
  one.keep("c1", message("a"));
  assert.deepEqual(two.load("c1"), message("a"));
  assert.equal(two.claim("c1", "a")?.state, "sending");
  assert.equal(one.claim("c1", "a"), null);
});

test("a message that was changed or taken back meanwhile is not taken", () => {
  const storage = new MemoryStorage();
  const messages = new NextMessages(storage, "ada");
  messages.keep("c1", message("a"));
  messages.keep("c1", message("b"));
  assert.equal(messages.claim("c1", "a"), null);
  messages.clear("c1");
  assert.equal(messages.claim("c1", "b"), null);
});

test("what waits in a conversation that has not started is this tab's until it has", () => {
  const storage = new MemoryStorage();
  const messages = new NextMessages(storage, "ada");
  messages.keep(null, message("a"));
  assert.equal(storage.length, 0);
  assert.equal(pageTexts.length, 1, "leaving the page asks first");
  messages.adopt("c1");
  assert.deepEqual(new NextMessages(storage, "ada").load("c1"), message("a"));
  assert.equal(messages.load(null), null);
});

test("another person at the same browser has no part in it, and signing out forgets it", () => {
  const storage = new MemoryStorage();
  storage.setItem("chatui:theme", "dark");
  const messages = new NextMessages(storage, "ada");
  messages.keep("c1", message("a"));
  assert.equal(new NextMessages(storage, "ben").load("c1"), null);
  messages.clear("c1");
  messages.forget();
  messages.keep("c1", message("from a tab that is still open"));
  messages.keep(null, message("b"));
  messages.adopt("c1");
  assert.equal(storage.length, 1);
  assert.equal(messages.load("c1"), null);
});

test("without storage it waits as long as the page, and what is damaged is nothing", () => {
  const refusing = () => {
    throw new Error("quota");
  };
  const full = { length: 1, key: refusing, getItem: () => null, setItem: refusing, removeItem: refusing };
  for (const storage of [null, full]) {
    const messages = new NextMessages(storage, "ada");
    messages.keep("c1", message("a"));
    assert.equal(messages.claim("c1", "a")?.state, "sending");
    messages.clear("c1");
    assert.equal(messages.load("c1"), null);
  }
  const storage = new MemoryStorage();
  for (const damaged of ["{broken", "7", "null", "{}", JSON.stringify({ ...message("a"), state: "odd" })]) {
    storage.setItem("chatui:next:ada:c1", damaged);
    assert.equal(new NextMessages(storage, "ada").load("c1"), null);
  }
});

test("files go with a message, and what is damaged of them is left out", () => {
  const storage = new MemoryStorage();
  const messages = new NextMessages(storage, "ada");
  const file = { id: "f1", use: "places", places: "1-2", name: "notes.txt" };
  messages.keep("c1", { ...message("a"), files: [file] });
  assert.deepEqual(messages.load("c1")?.files, [file]);
  const [key] = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  storage.setItem(key, JSON.stringify({ ...message("a"), files: [file, { id: 1 }, null, "x"] }));
  assert.deepEqual(messages.load("c1")?.files, [file]);
  storage.setItem(key, JSON.stringify({ ...message("a"), files: "f1" }));
  assert.deepEqual(messages.load("c1")?.files, []);
});
