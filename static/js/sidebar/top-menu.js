// The menu of the open conversation in the top bar: renames in the top bar; the rest works as in the list.

import { closestTo, find } from "../page/dom.js";
import { editTitle } from "./entries.js";

/** @import { ListActions } from "./list-actions.js" */

export class TopMenu {
  #actions;

  /** @param {ListActions} actions */
  constructor(actions) {
    this.#actions = actions;
  }

  /** The bar may be replaced, so the document is listened to. */
  listen() {
    document.addEventListener("click", this.#chosen);
  }

  /** @param {Event} event */
  #chosen = (event) => {
    const menu = closestTo(event, "#top-menu");
    const item = closestTo(event, "[data-action]");
    const { action, place } = item?.dataset ?? {};
    if (!menu || !action) return;
    menu.hidePopover();
    const conversation = menu.dataset.conversation ?? "";
    if (action === "delete") this.#actions.deleteOpen(conversation);
    else if (action === "rename") this.#rename(menu);
    else if (action === "put" && place) void this.#actions.put(menu, place);
    else if (action === "move" && item instanceof HTMLAnchorElement) {
      // Without scripts, the link leads to the page for moving.
      event.preventDefault();
      this.#actions.move(item.href);
    }
  };

  /** @param {HTMLElement} menu */
  #rename(menu) {
    const title = find(document, ".top-title", HTMLElement);
    const more = find(document, ".top-more", HTMLElement);
    const titled = { shown: title, title, more, back: more };
    editTitle(titled, (now, before) => void this.#actions.saveTitle(menu, now, before));
  }
}
