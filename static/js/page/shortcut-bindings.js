// Maps keys to actions: the defaults, and a person's changes in this browser.

import { tc } from "../language/words.js";

/** @import { TextStorage } from "../composer/drafts.js" */

/** @typedef {keyof typeof USUAL} Action */
/** @typedef {"free" | "not free" | { clash: Action }} Outcome of giving keys to an action */

const USUAL = Object.freeze({
  new: "Ctrl+Shift+O",
  temporary: "T",
  search: "Ctrl+K",
  find: "F",
  message: "M",
  copy: "C",
  edit: "E",
  regenerate: "R",
  stop: "S",
  previous: "K",
  next: "J",
  fold: "L",
  help: "?",
});
/** Its name in storage events. */
export const SHORTCUTS_KEY = "chatui:shortcuts";

export class Bindings {
  #storage;
  /** @type {Map<Action, string>} */
  #keys = new Map();
  #singles = true;

  /** @param {Pick<TextStorage, "getItem" | "setItem" | "removeItem"> | null} storage null if there is none */
  constructor(storage) {
    this.#storage = storage;
    this.load();
  }

  /** Reads what this or another tab has stored. Damaged values count as unchanged. */
  load() {
    this.#keys = new Map(actions().map((action) => [action, USUAL[action]]));
    const stored = this.#read();
    this.#singles = stored.singles !== false;
    const changed = /** @type {Record<string, unknown>} */ (Object(stored.keys));
    for (const action of actions()) {
      const keys = changed[action];
      if (keys === "" || (typeof keys === "string" && isFree(keys))) this.#keys.set(action, keys);
    }
  }

  /** Whether shortcuts of a single character work. */
  get singles() {
    return this.#singles;
  }

  set singles(on) {
    this.#singles = on;
    this.#store();
  }

  /** The keys of an action; empty if it has none. @param {Action} action */
  of(action) {
    return this.#keys.get(action) ?? "";
  }

  /**
   * @param {string} keys
   * @returns {Action | null} null also if they are switched off
   */
  actionOf(keys) {
    if (!keys || (!this.#singles && isSingle(keys))) return null;
    return this.#owner(keys);
  }

  /**
   * Gives keys to an action, unless they are not free.
   * @param {Action} action
   * @param {string} keys empty to remove them
   * @returns {Outcome}
   */
  set(action, keys) {
    const owner = keys ? this.#owner(keys) : null;
    if (owner && owner !== action) return { clash: owner };
    if (keys && keys !== USUAL[action] && !isFree(keys)) return "not free";
    this.#keys.set(action, keys);
    this.#store();
    return "free";
  }

  /** Restores the default keys, and switches all of them on. */
  reset() {
    try {
      this.#storage?.removeItem(SHORTCUTS_KEY);
    } catch {
      // Then nothing was stored.
    }
    this.load();
  }

  /** @param {string} keys */
  #owner(keys) {
    return actions().find((action) => this.of(action) === keys) ?? null;
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
      this.#storage?.setItem(SHORTCUTS_KEY, JSON.stringify({ singles: this.#singles, keys }));
    } catch {
      // Without storage, they last as long as the page.
    }
  }
}

/** All actions, in display order. */
export function actions() {
  return /** @type {Action[]} */ (Object.keys(USUAL));
}

// Names of keys that are pressed together, such as "Ctrl+Shift+O" or "?", and which of them a shortcut may have.

/**
 * @typedef {object} PressedKey the part of a keyboard event that is read here
 * @property {string} key
 * @property {string} [code]
 * @property {boolean} ctrlKey
 * @property {boolean} metaKey
 * @property {boolean} altKey
 * @property {boolean} shiftKey
 */

/** With Ctrl, what browsers and text boxes use. Ctrl stands for ⌘, too. */
const TAKEN_WITH_CTRL = "ABCDEFGHJLMNOPQRSTUVWXYZ0123456789+-=";
const TAKEN_WITH_CTRL_SHIFT = "ABCDEGHIJKMNPQRSTUVWYZ+-=";
/** Without Ctrl: Firefox's quick find. */
const TAKEN_ALONE = "/'";

/**
 * @param {PressedKey} event
 * @returns {string} empty for a key that only changes others, and for one without a name
 */
export function keysOf(event) {
  const key = characterOf(event);
  if (["Control", "Shift", "Alt", "Meta", "AltGraph", "Dead", "Process", "Unidentified", ""].includes(key)) return "";
  const isCharacter = key.length === 1;
  const name = key === " " ? "Space" : isCharacter ? key.toUpperCase() : key;
  // For a character that is not a letter, Shift is just part of typing it.
  const isShifted = event.shiftKey && (!isCharacter || event.ctrlKey || event.metaKey || /^[A-Z]$/.test(name));
  const modifiers = [event.ctrlKey || event.metaKey ? "Ctrl" : "", event.altKey ? "Alt" : "", isShifted ? "Shift" : ""];
  return [...modifiers.filter(Boolean), name].join("+");
}

/** If the layout has no Latin letters, a letter means the key at its position. @param {PressedKey} event */
function characterOf({ key, code }) {
  if (key.length !== 1 || /^[\x20-\x7e]$/.test(key)) return key;
  return /^Key([A-Z])$/.exec(code ?? "")?.[1] ?? key;
}

/**
 * Whether people who use speech input, or type without seeing the focus, could press them by mistake (WCAG 2.1.4).
 * @param {string} keys
 */
export function isSingle(keys) {
  return !keys.startsWith("Ctrl+");
}

/**
 * Whether a shortcut may use them: the keys of browsers, text boxes and screen readers are reserved.
 * @param {string} keys
 */
export function isFree(keys) {
  const [, ctrl, shift, name = ""] = /^(Ctrl\+)?(Shift\+)?([\x21-\x7e])$/.exec(keys) ?? [];
  if (!name) return false;
  const taken = ctrl ? (shift ? TAKEN_WITH_CTRL_SHIFT : TAKEN_WITH_CTRL) : TAKEN_ALONE;
  return !taken.includes(name);
}

/**
 * The keys as labelled on keyboards of the page's language: "Strg+Umschalt+O".
 * @param {string} keys
 */
export function keysShown(keys) {
  /** @type {Record<string, string>} */
  const names = { Ctrl: tc("key", "Ctrl"), Shift: tc("key", "Shift"), Space: tc("key", "Space") };
  return keys.replace(/[A-Z][a-z]+/g, (name) => names[name] ?? name);
}
