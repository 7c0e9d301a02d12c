// Choosing several conversations of the list: a box at each, and a row of actions below. The row is the form of the
// page for choosing, which works without this script.

import { t, tn } from "../language/words.js";
import { closestTo, find, lifeOf, parse, seek } from "../page/dom.js";
import { changed, toast } from "../page/menus.js";
import { messageOf, postJson, read } from "../page/server.js";

/** @import { ConversationList } from "./conversation-list.js" */

const ID = "choosing";

export class Choosing {
  #list;
  /** @type {HTMLFormElement | null} */
  #form = null;
  #count = document.createElement("p");
  #watcher = new MutationObserver(() => this.#refresh());

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
    this.#count.className = "choose-count";
    this.#count.setAttribute("role", "status");
  }

  /**
   * @param {string} path of the page for choosing
   * @param {HTMLElement} first entry, which is chosen
   */
  async start(path, first) {
    if (this.#form) return;
    try {
      this.#form = find(parse(await read(path)), "form.choose", HTMLFormElement);
    } catch (error) {
      return toast(messageOf(error));
    }
    const [head, end] = [document.createElement("div"), document.createElement("button")];
    end.type = "button";
    Object.assign(end, { className: "quiet", textContent: t("Cancel") });
    end.dataset.action = "end-choosing";
    head.className = "choose-head";
    head.append(this.#count, end);
    find(this.#form, ".choose-list", HTMLElement).replaceWith(head);
    this.#form.id = ID;
    // Not by "action", which is the name of its buttons.
    this.#form.setAttribute("action", path);
    this.#form.addEventListener("submit", this.#submitted);
    this.#form.addEventListener("click", (event) => closestTo(event, "[data-action=end-choosing]") && this.#end());
    this.#list.after(this.#form);
    this.#list.dataset.choosing = "";
    this.#list.addEventListener("click", this.#clicked, { capture: true });
    this.#list.addEventListener("change", this.#refresh);
    document.addEventListener("keydown", this.#key, { signal: lifeOf(this.#list) });
    this.#watcher.observe(this.#list, { childList: true, subtree: true });
    this.#refresh();
    const box = boxOf(first);
    if (!box) return;
    box.checked = true;
    box.focus();
    this.#refresh();
  }

  /** Adds the missing boxes, and says how many are ticked. */
  #refresh = () => {
    for (const item of this.#list.querySelectorAll(".conversation-item")) {
      if (boxOf(item)) continue;
      const title = find(item, ".conversation-title", HTMLElement).textContent;
      const box = document.createElement("input");
      box.type = "checkbox";
      Object.assign(box, { name: "conversation", className: "choose-box" });
      box.value = item.getAttribute("data-conversation") ?? "";
      box.setAttribute("form", ID);
      box.ariaLabel = title || t("A conversation without a title");
      item.prepend(box);
    }
    const count = this.#list.querySelectorAll(".choose-box:checked").length;
    this.#count.textContent = tn("%(n)s chosen", "%(n)s chosen", count);
    for (const act of this.#form?.querySelectorAll("[name=action]") ?? []) act.toggleAttribute("disabled", !count);
  };

  /** @param {MouseEvent} event a click on an entry ticks its box */
  #clicked = (event) => {
    const link = closestTo(event, ".conversation-link");
    const box = link && boxOf(link.parentElement);
    if (!box || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    box.click();
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.key !== "Escape" || event.isComposing || seek(document, "dialog[open]", HTMLElement)) return;
    event.preventDefault();
    this.#end();
  };

  /** @param {SubmitEvent} event */
  #submitted = async (event) => {
    const form = this.#form;
    const { submitter } = event;
    // The browser saves a download.
    if (!form || !(submitter instanceof HTMLButtonElement) || submitter.value === "download") return;
    event.preventDefault();
    const fields = [...new FormData(form, submitter)].map(([name, value]) => [name, String(value)]);
    try {
      // The server tells every page, including this one.
      const path = form.getAttribute("action") ?? "";
      const { title = "", undo, folder = "" } = await postJson(path, new URLSearchParams(fields));
      this.#end();
      this.#list.unfold(folder);
      changed(title, undo);
    } catch (error) {
      toast(messageOf(error));
    }
  };

  #end() {
    this.#watcher.disconnect();
    document.removeEventListener("keydown", this.#key);
    this.#list.removeEventListener("change", this.#refresh);
    this.#list.removeEventListener("click", this.#clicked, { capture: true });
    const chosen = seek(this.#list, ".conversation-item:has(.choose-box:checked)", HTMLElement);
    for (const box of this.#list.querySelectorAll(".choose-box")) box.remove();
    delete this.#list.dataset.choosing;
    this.#form?.remove();
    this.#form = null;
    seek(chosen ?? this.#list, ".conversation-link", HTMLElement)?.focus({ preventScroll: true });
  }
}

/** @param {Element | null} item */
function boxOf(item) {
  return item && seek(item, ".choose-box", HTMLInputElement);
}
