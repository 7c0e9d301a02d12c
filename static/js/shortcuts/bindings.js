// Maps keys to actions: the defaults, and a person's changes in this browser.

import { isFree, isSingle } from "./keys.js";

/** @import { TextStorage } from "../models/drafts.js" */
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
