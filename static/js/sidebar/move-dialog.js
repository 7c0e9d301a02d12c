// The dialog that moves a conversation into a folder or out of it, and the one for a new folder. Its content comes from
// the page that does the same without scripts.

import { t } from "../language/words.js";
import { closestTo, find, pageOf, parse, seek } from "../page/dom.js";
import { messageOf, postJson, read } from "../page/server.js";
import { changed, toast } from "../page/menus.js";

/** @import { ConversationList } from "./conversation-list.js" */

export class MoveDialog {
  #list;
  #dialog;
  #content;

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
    this.#dialog = find(pageOf(list), "#move", HTMLDialogElement);
    this.#content = find(this.#dialog, ".move-content", HTMLElement);
    this.#dialog.addEventListener("click", this.#clicked);
    this.#dialog.addEventListener("submit", this.#submitted);
  }

  /** @param {string} path of the page on which the conversation is moved, or a folder is created */
  async open(path) {
    try {
      const page = parse(await read(path));
      this.#content.replaceChildren(find(page, ".move", HTMLElement));
      find(this.#dialog, "h2", HTMLElement).textContent = find(page, "h1", HTMLElement).textContent;
    } catch (error) {
      return toast(messageOf(error));
    }
    this.#dialog.showModal();
    seek(this.#content, "[aria-current], [name=name]", HTMLElement)?.focus();
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
    try {
      // The server tells every page, including this one.
      const answer = await postJson(path, Object.fromEntries(fields));
      if (answer.ok === false) return toast(answer.message ?? "");
      this.#dialog.close();
      moved(this.#list, answer);
    } catch (error) {
      this.#dialog.close();
      toast(messageOf(error));
    }
  };
}

/**
 * Shows what the server has done: the folder is opened, so that what was moved stays in sight.
 * @param {ConversationList} list
 * @param {{ title?: string, name?: string, undo?: string, folder?: string }} answer without a title for a new folder
 */
export function moved(list, { title, name, undo, folder = "" }) {
  list.unfold(folder);
  if (title !== undefined) changed(t("Moved “%(title)s”.", { title }), undo);
  else toast(t("Created the folder “%(name)s”.", { name: name ?? "" }));
}
