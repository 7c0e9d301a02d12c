// The dialog that moves a conversation into a folder or out of it. Its content comes from the page for moving.

import { t } from "../language/words.js";
import { closestTo, find, parse, seek } from "../page/dom.js";
import { messageOf, postJson, read } from "../page/server.js";
import { changed, toast } from "../page/menus.js";

/** @import { ConversationList } from "./conversation-list.js" */

export class MoveDialog {
  #list;
  #dialog = find(document, "#move", HTMLDialogElement);
  #content = find(this.#dialog, ".move-content", HTMLElement);

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
    this.#dialog.addEventListener("click", this.#clicked);
    this.#dialog.addEventListener("submit", this.#submitted);
  }

  /** @param {string} path of the page on which the conversation is moved */
  async open(path) {
    try {
      this.#content.replaceChildren(find(parse(await read(path)), ".move", HTMLElement));
    } catch (error) {
      return toast(messageOf(error));
    }
    this.#dialog.showModal();
    seek(this.#content, "[aria-current]", HTMLElement)?.focus();
  }

  /** @param {Event} event */
  #clicked = (event) => {
    // A click beside the dialog hits the dialog itself.
    if (event.target === this.#dialog || closestTo(event, "[data-action=close-move]")) this.#dialog.close();
  };

  /** @param {SubmitEvent} event */
  #submitted = async (event) => {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const fields = [...new FormData(event.target, event.submitter)].map(([name, value]) => [name, String(value)]);
    const path = event.target.getAttribute("action") ?? "";
    this.#dialog.close();
    try {
      // The server tells every page, including this one.
      const { title = "", undo, folder = "" } = await postJson(path, Object.fromEntries(fields));
      this.#list.unfold(folder);
      changed(t("Moved “%(title)s”.", { title }), undo);
    } catch (error) {
      toast(messageOf(error));
    }
  };
}
