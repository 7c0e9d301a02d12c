import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { MessageDraft } from "../../static/js/writing/message-draft.js";
import { MemoryStorage } from "./memory-storage.js";

const KEY = "chatui:draft:ada:new";

/** What each tab listens to, by the order in which the tabs were opened. @type {Record<string, (event?: object) => void>[]} */
let tabs = [];
let storage = new MemoryStorage();

beforeEach(() => {
  tabs = [];
  storage = new MemoryStorage();
  Object.assign(globalThis, {
    document: { querySelector: () => null },
    addEventListener: (/** @type {string} */ name, /** @type {() => void} */ run) => {
      Object.assign(tabs.at(-1) ?? {}, { [name]: run });
    },
  });
  Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
});

/** A tab with a new conversation, or with this one. @param {string | null} [conversation] */
function open(conversation = null) {
  const box = { text: "" };
  const number = tabs.push({}) - 1;
  const draft = new MessageDraft(box, "ada", conversation);
  draft.begin();
  /** Does something in this tab, and tells the other tabs what that changed in storage. @param {() => void} action */
  const act = (action) => {
    const before = storage.getItem(KEY);
    action();
    if (storage.getItem(KEY) === before) return;
    tabs.forEach((tab, other) => other !== number && tab.storage?.({ key: KEY, oldValue: before }));
  };
  return {
    box,
    write: (/** @type {string} */ text) => act(() => ((box.text = text), draft.save())),
    send: () => act(() => (draft.sent(box.text), (box.text = ""))),
    accept: () => act(() => draft.accepted("c1")),
    leave: () => act(() => (tabs[number]?.pagehide?.(), (tabs[number] = {}))),
  };
}

test("a tab with a new conversation begins with the draft of the last one, and keeps its own text from then on", () => {
  const one = open();
  const early = open();
  one.write("First long draft");
  assert.equal(early.box.text, "", "nothing appears in a tab that is open");
  const two = open();
  assert.equal(two.box.text, "First long draft");
  two.write("Something else");
  assert.equal(one.box.text, "First long draft");
});

test("sending a new conversation clears the same text in other tabs, and no other text is lost", () => {
  const one = open();
  one.write("First long draft");
  const same = open();
  const two = open();
  two.write("Something else");
  two.send();
  two.accept();
  assert.equal(one.box.text, "First long draft");
  assert.equal(open().box.text, "First long draft", "it is stored again");

  one.send();
  assert.equal(same.box.text, "First long draft", "until the server has it");
  one.accept();
  assert.equal(same.box.text, "");
  assert.equal(open().box.text, "");
});

test("what another tab has stored instead is stored again when the page is left", () => {
  const one = open();
  one.write("First long draft");
  open().write("Something else");
  one.leave();
  assert.equal(open().box.text, "First long draft");
});

test("a page that is left with an old copy or nothing does not replace what is stored", () => {
  const one = open();
  const empty = open();
  one.write("First");
  const copy = open();
  one.write("First long draft");
  copy.leave();
  empty.leave();
  assert.equal(open().box.text, "First long draft");
  one.write("");
  assert.equal(open().box.text, "");
});
