// Which keys belong to which action: the usual ones, and what a person has changed in this browser.

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
/** What storage events name it by. */
export const SHORTCUTS_KEY = "chatui:shortcuts";

export class Bindings {
  #storage;
  /** @type {Map<Action, string>} */
  #keys = new Map();
  #singles = true;

  /** @param {Pick<TextStorage, "getItem" | "setItem" | "removeItem"> | null} storage null where there is none */
  constructor(storage) {
    this.#storage = storage;
    this.load();
  }

  /** Reads what was stored, here or in another tab. What is damaged counts as not changed. */
  load() {
    this.#keys = new Map(actions().map((action) => [action, USUAL[action]]));
    this.#singles = true;
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

  /** The keys of an action; empty where it has none. @param {Action} action */
  of(action) {
    return this.#keys.get(action) ?? "";
  }

  /**
   * @param {string} keys
   * @returns {Action | null} null also where they are switched off
   */
  actionOf(keys) {
    if (!keys || (!this.#singles && isSingle(keys))) return null;
    return this.#owner(keys);
  }

  /**
   * Gives keys to an action, unless they are not free.
   * @param {Action} action
   * @param {string} keys empty to take them away
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

  /** All keys are the usual ones again, and all of them work. */
  reset() {
    try {
      this.#storage?.removeItem(SHORTCUTS_KEY);
    } catch {
      // Then nothing was stored.
    }
    this.#keys = new Map(actions().map((action) => [action, USUAL[action]]));
    this.#singles = true;
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

  /** Only what differs from the usual is stored: a better usual one reaches everybody else. */
  #store() {
    const changed = actions().filter((action) => this.of(action) !== USUAL[action]);
    const keys = Object.fromEntries(changed.map((action) => [action, this.of(action)]));
    try {
      this.#storage?.setItem(SHORTCUTS_KEY, JSON.stringify({ singles: this.#singles, keys }));
    } catch {
      // Without storage they last as long as the page.
    }
  }
}

/** All actions, in the order in which they are listed. */
export function actions() {
  return /** @type {Action[]} */ (Object.keys(USUAL));
}
