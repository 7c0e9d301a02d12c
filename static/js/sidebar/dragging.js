// Moves a conversation by dragging it: onto a folder, or onto the rest of the list, which takes it out of its folder.
// The menu of the conversation does the same for a keyboard. Loaded when the first conversation is dragged.

import { find } from "../page/dom.js";
import { postJson, messageOf } from "../page/server.js";
import { toast } from "../page/menus.js";
import { moved } from "./move-dialog.js";

/** @import { ConversationList } from "./conversation-list.js" */

/**
 * Follows one drag to its end.
 * @param {ConversationList} list
 * @param {HTMLElement} item that is dragged
 */
export function follow(list, item) {
  const drag = new AbortController();
  const { signal } = drag;
  const here = item.closest(".folder") ?? list;
  const show = (/** @type {Element | null} */ place) => {
    for (const each of list.querySelectorAll(".folder[data-drop]")) each.toggleAttribute("data-drop", each === place);
    list.toggleAttribute("data-drop", place === list);
    place?.toggleAttribute("data-drop", true);
  };
  /** @param {DragEvent} event */
  const over = (event) => {
    const place = placeAt(list, event);
    show(place === here ? null : place);
    if (place === here) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "move";
  };
  list.addEventListener("dragover", over, { signal });
  list.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node && list.contains(event.relatedTarget))) show(null);
  }, { signal });
  list.addEventListener("drop", (event) => {
    event.preventDefault();
    const place = placeAt(list, event);
    if (place !== here) void move(list, item, place === list ? "" : (place.dataset.folder ?? ""));
  }, { signal });
  // Not to the entry: an event that renews the list may replace it meanwhile.
  document.addEventListener("dragend", () => (show(null), drag.abort()), { signal });
}

/**
 * @param {ConversationList} list
 * @param {DragEvent} event
 * @returns {HTMLElement} the folder below the pointer, otherwise the list
 */
function placeAt(list, { target }) {
  const folder = target instanceof Node ? (target instanceof Element ? target : target.parentElement) : null;
  const found = folder?.closest(".folder");
  return found instanceof HTMLElement ? found : list;
}

/**
 * @param {ConversationList} list
 * @param {HTMLElement} item
 * @param {string} folder empty for none
 */
async function move(list, item, folder) {
  try {
    const path = find(item, "a.conversation-link", HTMLAnchorElement).href;
    moved(list, await postJson(`${path}move/`, { folder }));
  } catch (error) {
    toast(messageOf(error));
  }
}
