import assert from "node:assert/strict";
import { test } from "node:test";
import { Bindings, SHORTCUTS_KEY, actions, isFree, keysOf, withModifier } from "../../static/js/page/shortcut-bindings.js";
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
  assert.equal(keysOf(press("r", "as")), "Alt+Shift+R", "with caps lock");
  assert.equal(keysOf(press("?", "as")), "Alt+?");
  assert.equal(keysOf(press("O", "cs")), "Ctrl+Shift+O");
  assert.equal(keysOf(press("k", "m")), "Ctrl+K");
  assert.equal(keysOf(press("С", "as", "KeyC")), "Alt+Shift+C", "a Cyrillic letter");
  assert.equal(keysOf(press("С", "as", "KeyI")), "Alt+Shift+I", "another layout");
  assert.equal(keysOf(press("r", "as", "KeyO")), "Alt+Shift+R", "Dvorak");
  assert.equal(keysOf(press("k", "m"), true), "Ctrl+K", "⌘ of a Mac");
  assert.equal(keysOf(press("R", "cs"), true), "Alt+Shift+R", "Control of a Mac");
  assert.equal(keysOf(press(" ")), "Space");
  for (const key of ["Shift", "Dead", "Process", "AltGraph"]) assert.equal(keysOf(press(key)), "");
});

test("what writes with AltGr, Option or Alt and digits has no name", () => {
  for (const each of [press("€", "ca", "KeyE"), press("R", "cas", "KeyR")]) assert.equal(keysOf(each), "");
  for (const each of [press("R", "as", "KeyR"), press("®", "a", "KeyR"), press("r", "ca")]) assert.equal(keysOf(each, true), "");
  assert.equal(keysOf(press("7", "a", "Numpad7")), "");
});

test("keys without a modifier, and those of browsers, text boxes and screen readers are not free", () => {
  const taken = ["Ctrl+C", "Ctrl+T", "Ctrl+Shift+I", "Ctrl+Shift+T", "/", "Alt+D", "Ctrl+Alt+C", "F5", "Tab", "Enter", "X", "Shift+R", "?"];
  for (const keys of [...taken, "Space", "Escape", "ArrowDown", "Ctrl+Enter", "Alt+Space", "Alt+Enter", ""]) assert.equal(isFree(keys), false, keys);
  for (const keys of ["Alt+Shift+X", "Alt+?", "Alt+7", "Ctrl+.", "Ctrl+Shift+X"]) assert.equal(isFree(keys), true, keys);
});

test("every printable key gets a modifier that makes it free, and keys with one stay", () => {
  for (let code = 0x21; code < 0x7f; code += 1) {
    const keys = keysOf(press(String.fromCharCode(code)));
    assert.equal(isFree(keys), false, keys);
    assert.equal(isFree(withModifier(keys)), true, keys);
  }
  for (const keys of ["Ctrl+K", "Ctrl+Shift+O", "Alt+Shift+R", "Alt+?", "Enter", ""]) assert.equal(withModifier(keys), keys);
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
  assert.deepEqual(bindings.set("copy", "Alt+Shift+R"), { clash: "regenerate" });
  assert.equal(bindings.set("copy", "Ctrl+C"), "not free");
  assert.equal(bindings.set("copy", "Alt+Shift+X"), "free");
  assert.equal(bindings.set("edit", ""), "free");
  const again = new Bindings(storage);
  assert.equal(again.actionOf("Alt+Shift+X"), "copy");
  assert.equal(again.actionOf("Alt+Shift+C"), null);
  assert.equal(again.of("edit"), "");
  again.reset();
  assert.equal(new Bindings(storage).actionOf("Alt+Shift+C"), "copy");
  assert.equal(storage.length, 0);
});

test("what was chosen without a modifier keeps its key, wins over defaults, and is never two actions", () => {
  const storage = new MemoryStorage();
  const keys = { temporary: "", copy: "R", edit: "?", find: "N", message: "Shift+R", stop: "7", fold: "Ctrl+." };
  storage.setItem(SHORTCUTS_KEY, JSON.stringify({ singles: false, keys }));
  const bindings = new Bindings(storage);
  const wanted = { temporary: "", copy: "Alt+Shift+C", edit: "Alt+?", find: "Alt+Shift+N", message: "Alt+Shift+R", stop: "Alt+7", regenerate: "", fold: "Ctrl+." };
  for (const action of actions()) {
    const expected = /** @type {Record<string, string>} */ (wanted)[action];
    if (expected !== undefined) assert.equal(bindings.of(action), expected, action);
  }
  for (const key of "RN?7M") assert.equal(bindings.actionOf(key), null);
});

test("what is damaged counts as not changed", () => {
  const storage = new MemoryStorage();
  for (const damaged of ["{broken", "7", "null", '{"keys": 5}', '{"keys": {"copy": "Ctrl+W", "odd": "X"}}', '{"keys": {"copy": "Alt+D"}}', '{"keys": {"copy": 7}}']) {
    storage.setItem(SHORTCUTS_KEY, damaged);
    assert.equal(new Bindings(storage).actionOf("Alt+Shift+C"), "copy", damaged);
  }
});
