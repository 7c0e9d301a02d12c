// Maps keys to actions: the defaults, and a person's changes in this browser.

import { tc } from "../language/words.js";

/** @import { TextStorage } from "../composer/drafts.js" */

/** @typedef {keyof typeof USUAL} Action */
/** @typedef {"free" | "not free" | { clash: Action }} Outcome of giving keys to an action */

const USUAL = Object.freeze({
  new: "Ctrl+Shift+O",
  temporary: "Alt+Shift+N",
  search: "Ctrl+K",
  find: "Alt+Shift+F",
  message: "Alt+Shift+M",
  copy: "Alt+Shift+C",
  edit: "Alt+Shift+E",
  regenerate: "Alt+Shift+R",
  stop: "Alt+Shift+S",
  previous: "Alt+Shift+K",
  next: "Alt+Shift+J",
  fold: "Alt+Shift+L",
  help: "Alt+Shift+H",
});
/** Their names in storage events: a person's keys, and whether Enter sends (see "early.js"). */
export const SHORTCUTS_KEY = "chatui:shortcuts";
export const ENTER_KEY = "chatui:enter";

export class Bindings {
  #storage;
  /** @type {Map<Action, string>} */
  #keys = new Map();

  /** @param {Pick<TextStorage, "getItem" | "setItem" | "removeItem"> | null} storage null if there is none */
  constructor(storage) {
    this.#storage = storage;
    this.load();
  }

  /** Reads what a tab has stored. Damaged values count as unchanged; what was chosen wins over defaults. */
  load() {
    this.#keys = new Map();
    const changed = /** @type {Record<string, unknown>} */ (Object(this.#read().keys));
    for (const action of actions()) {
      const stored = changed[action];
      if (typeof stored !== "string") continue;
      const keys = withModifier(stored);
      if (!keys || (isFree(keys) && !this.actionOf(keys))) this.#keys.set(action, keys);
    }
    for (const action of actions()) {
      if (!this.#keys.has(action)) this.#keys.set(action, this.actionOf(USUAL[action]) ? "" : USUAL[action]);
    }
  }

  /** The keys of an action; empty if it has none. @param {Action} action */
  of(action) {
    return this.#keys.get(action) ?? "";
  }

  /**
   * @param {string} keys
   * @returns {Action | null}
   */
  actionOf(keys) {
    return (keys && actions().find((action) => this.of(action) === keys)) || null;
  }

  /**
   * Gives keys to an action, unless they are not free.
   * @param {Action} action
   * @param {string} keys empty to remove them
   * @returns {Outcome}
   */
  set(action, keys) {
    const owner = this.actionOf(keys);
    if (owner && owner !== action) return { clash: owner };
    if (keys && keys !== USUAL[action] && !isFree(keys)) return "not free";
    this.#keys.set(action, keys);
    this.#store();
    return "free";
  }

  /** Restores the default keys. */
  reset() {
    try {
      this.#storage?.removeItem(SHORTCUTS_KEY);
    } catch {
      // Then nothing was stored.
    }
    this.load();
  }

  /** @returns {Record<string, unknown>} */
  #read() {
    try {
      return /** @type {Record<string, unknown>} */ (Object(JSON.parse(this.#storage?.getItem(SHORTCUTS_KEY) ?? "{}")));
    } catch {
      return {};
    }
  }

  /** Only differences from the defaults are stored, so that a better default reaches everybody else. */
  #store() {
    const changed = actions().filter((action) => this.of(action) !== USUAL[action]);
    const keys = Object.fromEntries(changed.map((action) => [action, this.of(action)]));
    try {
      this.#storage?.setItem(SHORTCUTS_KEY, JSON.stringify({ keys }));
    } catch {
      // Without storage, they last as long as the page.
    }
  }
}

/** All actions, in display order. */
export function actions() {
  return /** @type {Action[]} */ (Object.keys(USUAL));
}

// Names of keys that are pressed together, such as "Ctrl+Shift+O", and which of them a shortcut may have. All of them
// have a modifier that writes nothing: whoever types, or dictates, without seeing the focus does no harm.

/** A Mac's ⌘ counts as Ctrl, and its Control as Alt: with its Option, one writes. */
const IS_MAC = /^(?:Mac|iP)/.test(globalThis.navigator?.platform);

/**
 * @typedef {object} PressedKey the part of a keyboard event that is read here
 * @property {string} key
 * @property {string} [code]
 * @property {boolean} ctrlKey
 * @property {boolean} metaKey
 * @property {boolean} altKey
 * @property {boolean} shiftKey
 */

/** With Ctrl, what browsers and text boxes use. */
const TAKEN_WITH_CTRL = "ABCDEFGHJLMNOPQRSTUVWXYZ0123456789+-=";
const TAKEN_WITH_CTRL_SHIFT = "ABCDEGHIJKMNPQRSTUVWYZ+-=";

const NAMELESS = ["Control", "Shift", "Alt", "Meta", "AltGraph", "Dead", "Process", "Unidentified", ""];

/**
 * @param {PressedKey} event
 * @param {boolean} [isMac]
 * @returns {string} empty for a key that only changes others, for one without a name, and for one that AltGr writes
 */
export function keysOf(event, isMac = IS_MAC) {
  const [ctrl, alt, writes] = isMac
    ? [event.metaKey, event.ctrlKey, event.altKey]
    : [event.ctrlKey || event.metaKey, event.altKey, event.ctrlKey && event.altKey];
  const key = characterOf(event);
  if (writes || NAMELESS.includes(key)) return "";
  // On Windows, Alt and the digits at the right write, too.
  if (alt && /^Numpad/.test(event.code ?? "")) return "";
  const isCharacter = key.length === 1;
  const name = key === " " ? "Space" : isCharacter ? key.toUpperCase() : key;
  // For a character that is not a letter, Shift is just part of typing it.
  const isShifted = event.shiftKey && (!isCharacter || ctrl || /^[A-Z]$/.test(name));
  const modifiers = [ctrl ? "Ctrl" : "", alt ? "Alt" : "", isShifted ? "Shift" : ""];
  return [...modifiers.filter(Boolean), name].join("+");
}

/** If the layout has no Latin letters, a letter means the key at its position. @param {PressedKey} event */
function characterOf({ key, code }) {
  if (key.length !== 1 || /^[\x20-\x7e]$/.test(key)) return key;
  return /^Key([A-Z])$/.exec(code ?? "")?.[1] ?? key;
}

/**
 * The keys with the modifier that a shortcut needs, if they have none.
 * @param {string} keys
 */
export function withModifier(keys) {
  return keys.replace(/^(?:Shift\+)?([A-Z])$/, "Alt+Shift+$1").replace(/^[!-~]$/, "Alt+$&");
}

/**
 * Whether a shortcut may use them: the keys of browsers, text boxes and screen readers are reserved.
 * @param {string} keys
 */
export function isFree(keys) {
  // Menus of browsers have letters with Alt; for other characters, Shift is just part of typing them.
  if (/^Alt\+(?:Shift\+[A-Z]|[!-@[-~])$/.test(keys)) return true;
  const [, shift, name = ""] = /^Ctrl\+(Shift\+)?([!-~])$/.exec(keys) ?? [];
  return name !== "" && !(shift ? TAKEN_WITH_CTRL_SHIFT : TAKEN_WITH_CTRL).includes(name);
}

/**
 * The keys as labelled on keyboards of the page's language, "Strg+Umschalt+O", or of a Mac, "⌘⇧O".
 * @param {string} keys
 */
export function keysShown(keys) {
  /** @type {Record<string, string>} */
  const names = IS_MAC
    ? { "Ctrl+": "⌘", "Alt+": "⌃", "Shift+": "⇧" }
    : { Ctrl: tc("key", "Ctrl"), Shift: tc("key", "Shift") };
  return Object.entries(names).reduce((shown, [name, label]) => shown.replace(name, label), keys);
}

/**
 * The keys in the syntax of the standard (aria-keyshortcuts).
 * @param {string} keys
 */
export function keysSpoken(keys) {
  return IS_MAC ? keys.replace("Alt+", "Control+").replace("Ctrl+", "Meta+") : keys.replace("Ctrl+", "Control+");
}
