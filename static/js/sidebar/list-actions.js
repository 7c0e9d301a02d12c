// The actions of a conversation's menu, in the list and in the top bar. What carries them out is loaded on first use.

import { t } from "../language/words.js";
import { closestTo, find, lifeOf, pageOf } from "../page/dom.js";
import { menuOpener, toast } from "../page/menus.js";
import { showPlace } from "./entries.js";

/** @import { Changes } from "./changes.js" */
/** @import { ConversationList } from "./conversation-list.js" */

export class ListActions {
  #list;
  #menu;
  #moving = onDemand(async () => new (await import("./move-dialog.js")).MoveDialog(this.#list));
  #choosing = onDemand(async () => new (await import("./choosing.js")).Choosing(this.#list));
  #changing = onDemand(async () => (this.#changes = new (await import("./changes.js")).Changes(this.#list)));
  /** @type {Changes | null} */
  #changes = null;
  #drag = new AbortController();

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
    this.#menu = find(pageOf(list), "#conversation-menu", HTMLElement);
  }

  listen() {
    // The bar with its menu may be replaced, so the document is listened to.
    document.addEventListener("click", this.#chosen, { signal: lifeOf(this.#list) });
    this.#list.addEventListener("dragstart", this.#dragged);
    this.#menu.addEventListener("beforetoggle", () => {
      const item = menuOpener()?.closest(".conversation-item");
      showPlace(this.#menu, item?.hasAttribute("data-pinned") ? "pinned" : "list");
    });
  }

  /**
   * @param {string} conversation
   * @returns {boolean} whether it was deleted in this tab
   */
  hasDeleted(conversation) {
    return this.#changes?.deleted.has(conversation) ?? false;
  }

  /** @param {Event} event */
  #chosen = (event) => {
    const create = closestTo(event, "a.folders-new");
    if (create instanceof HTMLAnchorElement && isPlain(event)) {
      event.preventDefault();
      return this.#moving((dialog) => dialog.open(create.href));
    }
    const menu = closestTo(event, "#conversation-menu, #top-menu");
    const line = closestTo(event, "[data-action]");
    const { action, place } = line?.dataset ?? {};
    const isOpen = menu?.id === "top-menu";
    // What has the addresses for requests: the entry in the list, or the menu of the open conversation itself.
    const item = isOpen ? menu : menuOpener()?.closest(".conversation-item");
    if (!menu || !action || !(item instanceof HTMLElement)) return;
    menu.hidePopover();
    if (action === "rename") {
      // What saves the title is there before its box is: whoever leaves the page saves it, too.
      this.#changing((changes) => import("./renaming.js").then(({ rename }) => {
        rename(isOpen ? null : item, (title, before) => void changes.saveTitle(item, title, before));
      }, unreachable));
    } else if (action === "delete") {
      this.#changing((changes) => isOpen ? changes.deleteOpen(item.dataset.conversation ?? "") : changes.delete(item));
    } else if (action === "put" && place) this.#changing((changes) => changes.put(item, place));
    else if ((action === "move" || action === "choose") && line instanceof HTMLAnchorElement) {
      // Without scripts, the link leads to the page for it.
      event.preventDefault();
      if (action === "move") this.#moving((dialog) => dialog.open(line.href));
      else this.#choosing((choosing) => choosing.start(line.href, item));
    } else if (action === "move") {
      const { href } = find(item, "a.conversation-link", HTMLAnchorElement);
      this.#moving((dialog) => dialog.open(`${href}move/`));
    }
  };

  /** The list takes the drop at once, also before what moves it is loaded. @param {DragEvent} event */
  #dragged = (event) => {
    this.#drag.abort();
    const item = closestTo(event, ".conversation-item");
    if (!item) return;
    const list = this.#list;
    const { signal } = (this.#drag = new AbortController());
    const loading = import("./dragging.js");
    loading.then(({ show }) => show(list, item, signal), () => {});
    list.addEventListener("dragover", (over) => over.preventDefault(), { signal });
    list.addEventListener("drop", (dropped) => {
      dropped.preventDefault();
      const { target } = dropped;
      loading.then(({ drop }) => drop(list, item, target), unreachable);
    }, { signal });
    document.addEventListener("dragend", () => this.#drag.abort(), { signal });
  };
}

/**
 * What is loaded on first use. If it cannot be loaded, the person is told, and can try again.
 * @template Part
 * @param {() => Promise<Part>} load
 */
function onDemand(load) {
  /** @type {Promise<Part> | null} */
  let loading = null;
  return (/** @type {(part: Part) => unknown} */ use) => {
    void (loading ??= load()).then(use, () => {
      loading = null;
      unreachable();
    });
  };
}

function unreachable() {
  toast(t("There is no connection to the server. Please try again when it is back."));
}

/** Whether a click opens nothing elsewhere, such as a new tab, and downloads nothing. @param {Event} event */
export function isPlain(event) {
  if (!(event instanceof MouseEvent) || event.button) return false;
  return !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}
