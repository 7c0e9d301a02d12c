import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Drafts, MessageDraft, problemWith, isSendKey, remainingCharacters } from "../../static/js/composer/drafts.js";
import { pageTexts } from "../../static/js/page/storage.js";
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

test("after a sign-out no draft is stored", () => {
  const storage = new MemoryStorage();
  const drafts = new Drafts(storage, "ada");
  drafts.forget();
  drafts.keep("c1", "written by a tab that is still open");
  assert.equal(storage.length, 0);
  assert.equal(drafts.load("c1").text, "");
});

test("an empty text is no draft", () => {
  const storage = new MemoryStorage();
  const drafts = new Drafts(storage, "ada");
  drafts.keep("c1", "text");
  drafts.keep("c1", "");
  assert.equal(storage.length, 0);
});

test("what a forbidden, full or damaged storage does not take lasts as long as the page, and nothing throws", () => {
  const refusing = () => {
    throw new Error("quota");
  };
  const full = { length: 0, key: refusing, getItem: refusing, setItem: refusing, removeItem: refusing };
  for (const storage of [null, full]) {
    const drafts = new Drafts(storage, "ada");
    drafts.keep("c1", "text");
    assert.equal(drafts.load("c1").text, "text");
    assert.equal(pageTexts.length, 1, "leaving the page asks first");
    drafts.clear("c1");
    assert.equal(drafts.load("c1").text, "");
    assert.equal(pageTexts.length, 0);
  }
  const damaged = new MemoryStorage();
  damaged.setItem("chatui:draft:ada:c1", "{broken");
  damaged.setItem("chatui:draft:ada:c2", '{"text": 7}');
  assert.equal(new Drafts(damaged, "ada").load("c1").text, "");
  assert.equal(new Drafts(damaged, "ada").load("c2").text, "");
});

const KEY = "chatui:draft:ada:new";

/** What each tab listens to, by the order in which the tabs were opened. @type {Record<string, (event?: object) => void>[]} */
let tabs = [];
let storage = new MemoryStorage();

beforeEach(() => {
  tabs = [];
  storage = new MemoryStorage();
  pageTexts.removeItem(KEY);
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
    /** Whether the page asks first. */
    leave: () => {
      let isAsked = false;
      act(() => tabs[number]?.beforeunload?.({ preventDefault: () => (isAsked = true) }));
      pageTexts.removeItem(KEY);
      act(() => (tabs[number]?.pagehide?.(), (tabs[number] = {})));
      return isAsked;
    },
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

test("a page asks before it is left where another tab has stored its own text instead, and does not replace it", () => {
  const one = open();
  one.write("First long draft");
  const two = open();
  two.write("Something else");
  assert.equal(one.leave(), true);
  assert.equal(two.leave(), false);
  const three = open();
  assert.equal(three.box.text, "Something else");
  const four = open();
  three.write("");
  four.write("Something else, and more");
  assert.equal(four.leave(), false, "the place is free again");
  three.write("A third text");
  three.send();
  three.accept();
  assert.equal(open().box.text, "Something else, and more", "sending another text leaves it");
});

test("a page that is left with an old copy or nothing does not replace what is stored", () => {
  const one = open();
  const empty = open();
  one.write("First");
  const copy = open();
  one.write("First long draft");
  assert.equal(copy.leave(), false);
  assert.equal(empty.leave(), false);
  assert.equal(open().box.text, "First long draft");
  one.write("");
  assert.equal(open().box.text, "");
});

test("a draft whose box has become another conversation's goes on with its own text, and gets the box back", () => {
  tabs.push({});
  const box = { text: "to be sent" };
  const own = new MessageDraft(box, "ada", "c1");
  own.sent(box.text);
  box.text = "typed since";
  own.leaveBox();
  box.text = "";
  const next = new MessageDraft(box, "ada", "c2", storage);
  next.begin();
  box.text = "for the other one";
  next.typed();
  own.accepted("c1");
  next.leaveBox();
  const stored = (/** @type {string} */ id) => new Drafts(storage, "ada").load(id).text;
  assert.deepEqual([stored("c1"), stored("c2")], ["typed since", "for the other one"]);
  own.putBack("refused");
  own.takeBox(box);
  assert.equal(box.text, "refused\n\ntyped since");
  assert.equal(stored("c2"), "for the other one");
});

const ENTER = { key: "Enter", shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, isComposing: false };

test("Enter sends or breaks the line, as was decided, and Ctrl+Enter and ⌘+Enter send", () => {
  assert.equal(isSendKey(ENTER, "send"), true);
  assert.equal(isSendKey(ENTER, "line"), false);
  for (const enter of ["send", "line"]) {
    for (const modifier of ["ctrlKey", "metaKey"]) assert.equal(isSendKey({ ...ENTER, [modifier]: true }, enter), true);
  }
});

test("Shift+Enter, Alt+Enter, other keys and Enter that confirms a word in an input method do not send", () => {
  for (const pressed of [{ shiftKey: true }, { altKey: true }, { isComposing: true }, { keyCode: 229 }, { key: "a" }]) {
    assert.equal(isSendKey({ ...ENTER, ...pressed }, "send"), false);
    assert.equal(isSendKey({ ...ENTER, ctrlKey: true, ...pressed }, "line"), false);
  }
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

test("the characters that are left are shown near the limit, as the server counts them", () => {
  assert.equal(remainingCharacters("x".repeat(899), 1000), null);
  assert.equal(remainingCharacters("x".repeat(900), 1000), "Characters left: 100");
  assert.equal(remainingCharacters("😀".repeat(950), 1000), "Characters left: 50");
  assert.equal(remainingCharacters("x".repeat(1001), 1000), null);
  assert.equal(remainingCharacters("😀".repeat(10), 1000), null);
  assert.equal(remainingCharacters("x".repeat(99_500), 100_000), "Characters left: 500");
  assert.equal(remainingCharacters("x", Infinity), null);
});
