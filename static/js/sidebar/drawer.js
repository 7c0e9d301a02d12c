// The sidebar: a column that can be folded away on wide screens, and a drawer on narrow ones, where Escape, a click
// outside or a choice closes it. The same two buttons open and close it.

import { find } from "../page/dom.js";
import { remember } from "../page/storage.js";

/** Read again in "list-early.js". */
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
    this.#narrow.addEventListener("change", () => this.close());
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
