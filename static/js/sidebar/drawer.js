// The sidebar: a column that can be folded away on wide screens, and a drawer on narrow ones, where Escape, a click
// outside or a choice closes it. The same two buttons open and close it.

import { find, lifeOf } from "../page/dom.js";
import { remember } from "../page/storage.js";
import { t } from "../language/words.js";
import { laterStyles } from "../exchange/later-styles.js";
import { toast } from "../page/menus.js";

/** Read again in "early.js". */
const KEY = "chatui:list";
const FOLDED = "folded";

export class Drawer {
  #sidebar;
  #stage;
  #shade;
  #closer;
  #narrow = matchMedia("(max-width: 56rem)");
  #opener = () => find(document, ".drawer-open", HTMLElement);

  /** @param {HTMLElement} page */
  constructor(page) {
    this.#sidebar = find(page, ".sidebar", HTMLElement);
    this.#stage = find(page, ".stage", HTMLElement);
    this.#shade = find(page, ".drawer-shade", HTMLElement);
    this.#closer = find(page, ".drawer-close", HTMLElement);
    this.#shade.addEventListener("click", () => this.close());
    this.#closer.addEventListener("click", () => (this.#narrow.matches ? this.close() : this.#fold()));
    // A window that grows past the narrow layout shows the sidebar as a column again.
    this.#narrow.addEventListener("change", () => this.close(), { signal: lifeOf(page) });
  }

  /** Whether it is open as a drawer. */
  get isOpen() {
    return "open" in this.#sidebar.dataset;
  }

  /** Whether it is visible, as a drawer or as a column. */
  get #isShown() {
    return this.#narrow.matches ? this.isOpen : !this.#isFolded;
  }

  get #isFolded() {
    return document.documentElement.dataset.list === FOLDED;
  }

  /** Shows it if it is hidden. */
  show() {
    if (!this.#isShown) this.open();
  }

  toggle() {
    if (!this.#isShown) this.open();
    else if (this.#narrow.matches) this.close();
    else this.#fold();
  }

  open() {
    if (!this.#narrow.matches) return this.#unfold();
    this.#sidebar.dataset.open = "";
    this.#shade.hidden = false;
    this.#stage.inert = true;
    this.#opener().setAttribute("aria-expanded", "true");
    this.#closer.focus();
  }

  /** Closes the drawer. */
  close() {
    if (!this.isOpen) return;
    delete this.#sidebar.dataset.open;
    this.#shade.hidden = true;
    this.#stage.inert = false;
    this.#opener().setAttribute("aria-expanded", "false");
    this.#opener().focus();
  }

  /** The focus stays, unless its element disappears: then it moves to the button that shows the list. */
  #fold() {
    const hadFocus = this.#sidebar.contains(document.activeElement);
    document.documentElement.dataset.list = FOLDED;
    remember(KEY, FOLDED);
    if (hadFocus) this.#opener().focus();
  }

  #unfold() {
    const hadFocus = document.activeElement === this.#opener();
    delete document.documentElement.dataset.list;
    remember(KEY, null);
    if (hadFocus) this.#closer.focus();
  }
}

// Loads <conversation-search> when its field is first focused. On "chat:find", it dispatches "chat:search" and focuses
// the field.

export function searchOnDemand() {
  const search = find(document, "conversation-search", HTMLElement);
  const text = find(search, ".search-text", HTMLInputElement);
  const load = () => void Promise.all([import("./conversation-search.js"), laterStyles()]).catch(() => {
    toast(t("There is no connection to the server. Please try again when it is back."));
  });
  search.addEventListener("chat:find", () => {
    search.dispatchEvent(new CustomEvent("chat:search", { bubbles: true }));
    text.focus();
    text.select();
  });
  search.addEventListener("focusin", load);
  // The browser has restored a text, or somebody typed before this script ran.
  if (text.value || search.contains(document.activeElement)) load();
}
