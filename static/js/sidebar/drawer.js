// The side bar as a drawer on narrow screens: a button opens it; Escape, a click outside or a choice closes it.

import { find } from "../page/dom.js";

export class Drawer {
  #sidebar;
  #stage;
  #shade;
  #opener = () => find(document, ".drawer-open", HTMLElement);

  /** @param {HTMLElement} page */
  constructor(page) {
    this.#sidebar = find(page, ".sidebar", HTMLElement);
    this.#stage = find(page, ".stage", HTMLElement);
    this.#shade = find(page, ".drawer-shade", HTMLElement);
    this.#shade.addEventListener("click", () => this.close());
    find(page, ".drawer-close", HTMLElement).addEventListener("click", () => this.close());
    // A window that grows past the narrow layout shows the side bar as a column again.
    matchMedia("(max-width: 56rem)").addEventListener("change", () => this.close());
  }

  /** Where the side bar is a drawer at this width, and not a column. */
  openIfNarrow() {
    if (this.#opener().offsetParent !== null && !this.isOpen) this.open();
  }

  get isOpen() {
    return "open" in this.#sidebar.dataset;
  }

  open() {
    this.#sidebar.dataset.open = "";
    this.#shade.hidden = false;
    this.#stage.inert = true;
    this.#opener().setAttribute("aria-expanded", "true");
    find(this.#sidebar, ".drawer-close", HTMLElement).focus();
  }

  close() {
    if (!this.isOpen) return;
    delete this.#sidebar.dataset.open;
    this.#shade.hidden = true;
    this.#stage.inert = false;
    this.#opener().setAttribute("aria-expanded", "false");
    this.#opener().focus();
  }
}
