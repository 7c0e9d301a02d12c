// The keyboard shortcuts of the chat page: finds the action for the pressed keys, and carries it out.

import { t } from "../language/words.js";
import { closestTo, find, lifeOf } from "./dom.js";
import { menuOpener, toast } from "./menus.js";
import { openStorage } from "./storage.js";
import { Bindings, ENTER_KEY, SHORTCUTS_KEY, keysOf, keysShown, keysSpoken } from "./shortcut-bindings.js";

/** @import { Action } from "./shortcut-bindings.js" */
/** @import { ShortcutSheet } from "./shortcut-sheet.js" */

/**
 * @typedef {object} PageParts
 * @property {HTMLElement} page
 * @property {() => void} message puts the focus into the message box
 * @property {() => void} fold shows the list of conversations, or folds it away
 * @property {() => void} stop
 * @property {() => void} escape
 */

export class Shortcuts {
  #around;
  #bindings = new Bindings(openStorage());
  /** Loaded when it is first opened. @type {ShortcutSheet | null} */
  #sheet = null;

  /** @param {PageParts} around */
  constructor(around) {
    this.#around = around;
  }

  listen() {
    const signal = lifeOf(this.#around.page);
    document.addEventListener("keydown", this.#key, { signal });
    document.addEventListener("click", this.#clicked, { signal });
    addEventListener("storage", this.#stored, { signal });
    this.#tell();
  }

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog:modal")) return;
    if (event.key === "Escape") return this.#around.escape();
    const action = this.#bindings.actionOf(keysOf(event));
    if (!action || event.repeat) return;
    event.preventDefault();
    this.#run(action);
  };

  /** @param {Action} action */
  #run(action) {
    switch (action) {
      case "new":
        return find(document, ".new-chat", HTMLElement).click();
      case "temporary":
        return location.assign(`${this.#around.page.dataset.home ?? "/"}?temporary=1`);
      case "search":
        return void find(document, "conversation-search", HTMLElement).dispatchEvent(new CustomEvent("chat:find"));
      case "find":
        return void find(document, ".find-bar", HTMLElement).dispatchEvent(new CustomEvent("chat:find"));
      case "message":
        return this.#around.message();
      case "copy":
        return this.#press("[data-action=copy-answer]", t("There is no answer to copy yet."));
      case "edit":
        return this.#press("[data-action=edit]", t("There is no question to edit yet."));
      case "regenerate":
        return this.#press("[data-action=regenerate]", t("There is no answer to regenerate yet."));
      case "stop":
        return this.#around.stop();
      case "previous":
        return this.#open(-1);
      case "next":
        return this.#open(1);
      case "fold":
        return this.#around.fold();
      case "help":
        return void this.#openSheet(document.activeElement);
    }
  }

  /**
   * Presses the last such button of the conversation.
   * @param {string} selector
   * @param {string} otherwise the message if there is none
   */
  #press(selector, otherwise) {
    const buttons = [...this.#around.page.querySelectorAll(`chat-transcript ${selector}`)];
    const last = buttons.filter((button) => button instanceof HTMLElement && button.checkVisibility()).at(-1);
    if (!(last instanceof HTMLElement)) return toast(otherwise);
    last.scrollIntoView({ block: "nearest" });
    last.click();
  }

  /** Opens a neighbour of the open conversation in the list, or of the open result of a search. @param {1 | -1} by */
  #open(by) {
    const step = this.#around.page.querySelector(`.search-steps:not([hidden]) [data-step="${by}"]`);
    if (step instanceof HTMLButtonElement) return step.disabled ? toast(t("There are no more results.")) : step.click();
    const shown = ".folder-details[open] .conversation-link, .conversation-items .conversation-link";
    const links = [...this.#around.page.querySelectorAll(shown)];
    const open = links.findIndex((link) => link.getAttribute("aria-current") === "page");
    const link = open < 0 && by < 0 ? undefined : links[open + by];
    if (link instanceof HTMLElement) link.click();
    else toast(t("There are no more conversations in the list."));
  }

  /** @param {Event} event */
  #clicked = (event) => {
    // The menu closes; the focus goes back to the button that opened it.
    if (closestTo(event, "[data-action=shortcuts]")) void this.#openSheet(menuOpener());
  };

  /** @param {Element | null} opener */
  async #openSheet(opener) {
    try {
      const { sheetOf } = await import("./shortcut-sheet.js");
      this.#sheet = await sheetOf(this.#around.page, this.#bindings, () => this.#tell());
      this.#sheet.open(opener);
    } catch {
      toast(t("There is no connection to the server. Please try again when it is back."));
    }
  }

  /** @param {StorageEvent} event */
  #stored = (event) => {
    if (event.key !== SHORTCUTS_KEY && event.key !== ENTER_KEY) return;
    this.#bindings.load();
    this.#sheet?.show();
    this.#tell();
  };

  /** Exposes the keys of the page's controls to assistive technology and in tooltips, and those of the message box. */
  #tell() {
    const keys = keysShown("Ctrl+Enter");
    find(document, ".composer-hint", HTMLElement).textContent = document.documentElement.dataset.enter === "line"
      ? t("Enter for a new line · %(keys)s to send", { keys })
      : t("Enter to send · Shift+Enter for a new line");
    for (const element of document.querySelectorAll("[data-keys-of]")) {
      const keys = this.#bindings.of(/** @type {Action} */ (element.getAttribute("data-keys-of")));
      const label = element.getAttribute("data-keys-label") ?? "";
      element.setAttribute("title", keys ? t("%(label)s (%(keys)s)", { label, keys: keysShown(keys) }) : label);
      if (keys) element.setAttribute("aria-keyshortcuts", keysSpoken(keys));
      else element.removeAttribute("aria-keyshortcuts");
    }
  }
}
