// The sheet that lists the keyboard shortcuts and changes their keys.

import { t, tc } from "../language/words.js";
import { closestTo, find, parse, seek } from "./dom.js";
import { read } from "./server.js";
import { remember } from "./storage.js";
import { ENTER_KEY, actions, keysOf, keysShown, withModifier } from "./shortcut-bindings.js";

/** @import { Action, Bindings } from "./shortcut-bindings.js" */

const CHOOSE = t("Choose the keys of a shortcut to change them.");
const PRESS = t("Press the new keys. Escape keeps the old ones, Backspace removes them.");
const NOT_FREE = t("These keys are reserved for the browser, text boxes or screen readers. Please choose others.");
const SAVED = t("Saved.");
const ALL_USUAL = t("All shortcuts have their default keys again.");

/** Of each page on which it was opened and could be loaded. @type {WeakMap<Element, Promise<ShortcutSheet>>} */
const making = new WeakMap();

/**
 * The page's sheet. Its text comes from the server, in the language of the page.
 * @param {HTMLElement} page
 * @param {Bindings} bindings
 * @param {() => void} changed
 */
export function sheetOf(page, bindings, changed) {
  const known = making.get(page);
  if (known) return known;
  const made = read(page.dataset.shortcuts ?? "").then((html) => {
    page.append(parse(html));
    return new ShortcutSheet(page, bindings, changed);
  }).catch((error) => {
    making.delete(page);
    throw error;
  });
  making.set(page, made);
  return made;
}

export class ShortcutSheet {
  #dialog;
  #says;
  #enter;
  #bindings;
  #changed;
  /** The action that waits for its new keys. @type {Action | null} */
  #asked = null;
  /** @type {HTMLElement | null} */
  #opener = null;

  /**
   * @param {HTMLElement} page
   * @param {Bindings} bindings
   * @param {() => void} changed
   */
  constructor(page, bindings, changed) {
    this.#dialog = find(page, "#shortcuts", HTMLDialogElement);
    this.#says = find(this.#dialog, ".shortcuts-says", HTMLElement);
    this.#enter = find(this.#dialog, "input[name=enter]", HTMLInputElement);
    this.#bindings = bindings;
    this.#changed = changed;
    this.#dialog.addEventListener("click", this.#clicked);
    this.#dialog.addEventListener("keydown", this.#key);
    this.#dialog.addEventListener("focusout", () => this.#ask(null));
    this.#enter.addEventListener("change", () => {
      const chosen = this.#enter.checked ? "send" : "line";
      remember(ENTER_KEY, chosen);
      document.documentElement.dataset.enter = chosen;
      this.#done(SAVED);
    });
    this.#dialog.addEventListener("close", () => {
      // The event comes a moment later: the next key may have moved the focus already, for example into the find bar.
      if (document.activeElement === document.body) this.#opener?.focus();
    });
  }

  /** @param {Element | null} opener what gets the focus afterwards */
  open(opener) {
    if (this.#dialog.open) return;
    this.#opener = opener instanceof HTMLElement ? opener : null;
    this.#done("");
    this.#dialog.showModal();
  }

  /** Shows the current keys, which another tab may have changed. */
  show() {
    this.#enter.checked = document.documentElement.dataset.enter !== "line";
    for (const action of actions()) {
      const keys = this.#bindings.of(action);
      const button = this.#button(action);
      if (!button) continue;
      button.dataset.none = String(!keys);
      find(button, "kbd", HTMLElement).textContent = keysShown(keys) || tc("no keys", "None");
    }
  }

  /** @param {Event} event */
  #clicked = (event) => {
    const button = closestTo(event, "[data-shortcut]");
    if (button) this.#ask(/** @type {Action} */ (button.dataset.shortcut));
    else if (closestTo(event, "[data-action=reset-shortcuts]")) this.#reset();
    // A click beside the sheet hits the dialog itself.
    else if (event.target === this.#dialog || closestTo(event, "[data-action=close-shortcuts]")) this.#dialog.close();
  };

  #reset() {
    this.#bindings.reset();
    this.#done(ALL_USUAL);
  }

  /** @param {Action | null} action */
  #ask(action) {
    if (this.#asked) delete this.#button(this.#asked)?.dataset.asked;
    this.#asked = action;
    const button = action && this.#button(action);
    if (!button) return;
    button.dataset.asked = "";
    this.#says.textContent = PRESS;
  }

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    const action = this.#asked;
    const keys = withModifier(keysOf(event));
    // Tab moves the focus, as everywhere.
    if (!action || !keys || event.key === "Tab") return;
    event.preventDefault();
    if (event.repeat) return;
    if (event.key === "Escape") return this.#done("");
    const outcome = this.#bindings.set(action, ["Backspace", "Delete"].includes(event.key) ? "" : keys);
    if (outcome === "free") return this.#done(SAVED);
    this.#says.textContent = outcome === "not free" ? NOT_FREE : this.#clash(keys, outcome.clash);
  };

  /**
   * @param {string} keys
   * @param {Action} owner
   */
  #clash(keys, owner) {
    const row = this.#button(owner)?.closest(".shortcut");
    const name = row && seek(row, ".shortcut-name", HTMLElement)?.textContent?.trim();
    const values = { keys: keysShown(keys), name: name ?? "" };
    return t("%(keys)s is already used for “%(name)s”. Choose other keys, or change that shortcut first.", values);
  }

  /** @param {string} sentence */
  #done(sentence) {
    this.#ask(null);
    this.show();
    this.#says.textContent = sentence || CHOOSE;
    this.#changed();
  }

  /** @param {Action} action */
  #button(action) {
    return seek(this.#dialog, `[data-shortcut="${action}"]`, HTMLButtonElement);
  }
}
