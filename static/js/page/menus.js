// Places a menu beside its button, leads the arrow keys along it, and closes it after a choice or when the focus leaves
// it. The browser's popovers do the rest: opening, Escape, a click outside, and returning the focus to the button.

import { t } from "../language/words.js";
import { find, fromTemplate } from "./dom.js";
import { messageOf, postJson } from "./server.js";

const MARGIN_PX = 4;
const MENU_WIDTH_PX = 240;

/** @type {Element | null} */
let opener = null;

export function placeMenus() {
  document.addEventListener("click", remember, { capture: true });
  document.addEventListener("click", chosen);
  document.addEventListener("focusout", left);
  document.addEventListener("beforetoggle", place, { capture: true });
  document.addEventListener("keydown", step);
}

/** The arrow keys lead from the button into its open menu, and along the menu. @param {KeyboardEvent} event */
function step(event) {
  const [menu, active] = [document.querySelector(".menu:popover-open"), document.activeElement];
  if (!["ArrowDown", "ArrowUp"].includes(event.key) || !menu || !active) return;
  if (active !== opener && !(menu.contains(active) && active.matches("a, button"))) return;
  const items = [...menu.querySelectorAll("a, button")].filter((each) => each.checkVisibility());
  const last = items.length - 1;
  const at = items.indexOf(active);
  const next = event.key === "ArrowDown" ? (at < last ? at + 1 : 0) : at > 0 ? at - 1 : last;
  event.preventDefault();
  if (items[next] instanceof HTMLElement) items[next].focus();
}

/** @param {Event} event */
function chosen(event) {
  const item = event.target instanceof Element ? event.target.closest(".menu-item:not(summary)") : null;
  close(item?.closest(".menu:popover-open"));
}

/** @param {FocusEvent} event */
function left({ target, relatedTarget }) {
  const menu = target instanceof Element ? target.closest(".menu:popover-open") : null;
  if (!menu || !(relatedTarget instanceof Node) || menu.contains(relatedTarget)) return;
  // Pressing the menu's button moves the focus too, and closes the menu anyway.
  if (!opener?.contains(relatedTarget)) setTimeout(() => close(menu));
}

/** @param {Element | null | undefined} menu */
function close(menu) {
  if (menu instanceof HTMLElement && menu.matches(":popover-open")) menu.hidePopover();
}

/** The button whose menu is open, or was open last. */
export function menuOpener() {
  return opener;
}

/** @param {Event} event */
function remember(event) {
  const button = event.target instanceof Element ? event.target.closest("[popovertarget]") : null;
  if (button) opener = button;
}

/** @param {Event} event */
function place(event) {
  const menu = event.target;
  if (!(menu instanceof HTMLElement) || !menu.matches(".menu") || !opener) return;
  if (/** @type {ToggleEvent} */ (event).newState !== "open") return;
  const button = opener.getBoundingClientRect();
  const below = button.bottom < innerHeight / 2;
  const isRtl = document.dir === "rtl";
  const leftward = isRtl ? button.right > MENU_WIDTH_PX : button.left + MENU_WIDTH_PX > innerWidth;
  const room = (below ? innerHeight - button.bottom : button.top) - 2 * MARGIN_PX;
  // In a small or zoomed window the menu scrolls.
  menu.style.maxHeight = `${room}px`;
  menu.style.top = below ? `${button.bottom + MARGIN_PX}px` : "auto";
  menu.style.bottom = below ? "auto" : `${innerHeight - button.top + MARGIN_PX}px`;
  menu.style.left = leftward ? "auto" : `${button.left}px`;
  menu.style.right = leftward ? `${Math.max(MARGIN_PX, innerWidth - button.right)}px` : "auto";
}

// Toasts: short messages that disappear by themselves and may offer one action.

const PLAIN_MS = 5_000;
/** A toast with an action stays longer, to leave time to reach it. */
const ACTION_MS = 12_000;

/**
 * @param {string} text
 * @param {{ label: string, run: () => void }} [action]
 */
export function toast(text, action) {
  const element = fromTemplate("toast", HTMLElement);
  find(element, ".toast-text", HTMLElement).textContent = text;
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => element.remove(), action ? ACTION_MS : PLAIN_MS);
  };
  if (action) {
    const button = find(element, ".toast-action", HTMLButtonElement);
    button.textContent = action.label;
    button.hidden = false;
    button.addEventListener("click", () => {
      clearTimeout(timer);
      element.remove();
      action.run();
    });
  }
  // The button must not disappear while somebody is reaching for it.
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, () => clearTimeout(timer));
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, wait);
  find(document, ".toasts", HTMLElement).append(element);
  wait();
}

const UNDO = "/conversations/undo/";

/**
 * Says what was changed, and offers to undo it.
 * @param {string} text
 * @param {string} [key] of the change at the server
 */
export function changed(text, key) {
  const undo = async () => {
    try {
      const { title } = await postJson(UNDO, { key: key ?? "" });
      toast(title ?? "");
    } catch (error) {
      toast(messageOf(error));
    }
  };
  toast(text, key ? { label: t("Undo"), run: () => void undo() } : undefined);
}

// <theme-toggle>: the choice between light, dark and the system's theme. It is stored in this browser, where it
// overrides the account's.

const THEME_KEY = "chatui:theme";

class ThemeToggle extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", this.#choose);
    addEventListener("storage", this.#follow);
    this.#show();
  }

  disconnectedCallback() {
    removeEventListener("storage", this.#follow);
  }

  /** @param {Event} event */
  #choose = (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-theme]") : null;
    const theme = button?.getAttribute("data-theme");
    if (!theme) return;
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(THEME_KEY, theme);
    } catch {
      // Without storage, the choice lasts for this page.
    }
    this.#show();
  };

  /** @param {StorageEvent} event */
  #follow = (event) => {
    if (event.key !== THEME_KEY) return;
    document.documentElement.dataset.theme = event.newValue ?? "system";
    this.#show();
  };

  #show() {
    const chosen = document.documentElement.dataset.theme ?? "system";
    for (const button of this.querySelectorAll("[data-theme]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-theme") === chosen));
    }
  }
}

customElements.define("theme-toggle", ThemeToggle);

// The choice of a language: applies at once, without its button. A choice by keys waits for Enter or until the focus
// leaves it, because each arrow key chooses. "unsent.js" keeps what was typed in the forms of the page.

const STEPS = /^(Arrow|Home|End|Page)|^.$/u;

export function applyLanguages() {
  for (const form of document.querySelectorAll("form.language")) {
    if (form instanceof HTMLFormElement) applyLanguage(form);
  }
}

/** @param {HTMLFormElement} form */
function applyLanguage(form) {
  const choice = find(form, "select", HTMLSelectElement);
  let isByKeys = false;
  let applied = choice.value;
  const apply = () => {
    if (choice.value === applied) return;
    applied = choice.value;
    form.requestSubmit();
  };
  form.dataset.ready = "";
  choice.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") apply();
    else isByKeys = STEPS.test(key) && key !== " ";
  });
  choice.addEventListener("pointerdown", () => (isByKeys = false));
  choice.addEventListener("change", () => isByKeys || apply());
  choice.addEventListener("blur", apply);
}
