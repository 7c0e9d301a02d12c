import assert from "node:assert/strict";
import { test } from "node:test";
import { Bindings, SHORTCUTS_KEY, actions, isFree, isSingle, keysOf } from "../../static/js/page/shortcut-bindings.js";
import { MemoryStorage } from "./memory-storage.js";

/** @param {string} key @param {string} [modifiers] @param {string} [code] */
const press = (key, modifiers = "", code = "") => ({
  key,
  code,
  ctrlKey: modifiers.includes("c"),
  metaKey: modifiers.includes("m"),
  altKey: modifiers.includes("a"),
  shiftKey: modifiers.includes("s"),
});

test("keys have one name, whatever the layout and the platform", () => {
  assert.equal(keysOf(press("c")), "C");
  assert.equal(keysOf(press("R", "s")), "Shift+R");
  assert.equal(keysOf(press("?", "s")), "?");
  assert.equal(keysOf(press("O", "cs")), "Ctrl+Shift+O");
  assert.equal(keysOf(press("k", "m")), "Ctrl+K");
  assert.equal(keysOf(press("с", "", "KeyC")), "C", "a Cyrillic letter");
  assert.equal(keysOf(press(" ")), "Space");
  for (const key of ["Shift", "Dead", "Process", "AltGraph"]) assert.equal(keysOf(press(key)), "");
});

test("keys of browsers, text boxes and screen readers are not free", () => {
  const taken = ["Ctrl+C", "Ctrl+T", "Ctrl+Shift+I", "Ctrl+Shift+T", "/", "Alt+D", "Ctrl+Alt+C", "F5", "Tab", "Enter"];
  for (const keys of [...taken, "Space", "Escape", "ArrowDown", "Ctrl+Enter", ""]) assert.equal(isFree(keys), false, keys);
  for (const keys of ["X", "Shift+R", "?", "7", "Ctrl+.", "Ctrl+Shift+X"]) assert.equal(isFree(keys), true, keys);
});

test("the usual keys are free, and no two actions share any", () => {
  const bindings = new Bindings(null);
  const keys = actions().map((action) => bindings.of(action));
  assert.deepEqual(keys.filter((each) => !isFree(each)), []);
  assert.equal(new Set(keys).size, keys.length);
});

test("changed keys are stored, clashes are shown, and all can be reset", () => {
  const storage = new MemoryStorage();
  const bindings = new Bindings(storage);
  assert.deepEqual(bindings.set("copy", "R"), { clash: "regenerate" });
  assert.equal(bindings.set("copy", "Ctrl+C"), "not free");
  assert.equal(bindings.set("copy", "X"), "free");
  assert.equal(bindings.set("edit", ""), "free");
  const again = new Bindings(storage);
  assert.equal(again.actionOf("X"), "copy");
  assert.equal(again.actionOf("C"), null);
  assert.equal(again.of("edit"), "");
  again.reset();
  assert.equal(new Bindings(storage).actionOf("C"), "copy");
  assert.equal(storage.length, 0);
});

test("shortcuts of a single key can be switched off, and the others stay", () => {
  const storage = new MemoryStorage();
  new Bindings(storage).singles = false;
  const bindings = new Bindings(storage);
  for (const action of actions()) {
    const keys = bindings.of(action);
    assert.equal(bindings.actionOf(keys), isSingle(keys) ? null : action);
  }
});

test("what is damaged counts as not changed", () => {
  const storage = new MemoryStorage();
  for (const damaged of ["{broken", "7", "null", '{"keys": 5}', '{"keys": {"copy": "Ctrl+W", "odd": "X"}}']) {
    storage.setItem(SHORTCUTS_KEY, damaged);
    assert.equal(new Bindings(storage).actionOf("C"), "copy", damaged);
  }
});
