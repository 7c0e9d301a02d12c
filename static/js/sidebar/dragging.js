// Moves a conversation by dragging it: onto a folder, or onto the rest of the list, which takes it out of its folder.
// The menu of the conversation does the same for a keyboard. Loaded when the first conversation is dragged.

import { find } from "../page/dom.js";
import { postJson, messageOf } from "../page/server.js";
import { toast } from "../page/menus.js";
import { moved } from "./move-dialog.js";

/** @import { ConversationList } from "./conversation-list.js" */

/**
 * Marks where a conversation would be dropped.
 * @param {ConversationList} list
 * @param {HTMLElement} item that is dragged
 * @param {AbortSignal} signal of the end of the drag, which may have come before this was loaded
 */
export function show(list, item, signal) {
  if (signal.aborted) return;
  const mark = (/** @type {HTMLElement | null} */ place) => {
    for (const each of list.querySelectorAll(".folder[data-drop]")) each.toggleAttribute("data-drop", each === place);
    list.toggleAttribute("data-drop", place === list);
    place?.toggleAttribute("data-drop", true);
  };
  list.addEventListener("dragover", ({ target, dataTransfer }) => {
    const place = placeAt(list, target);
    const isElsewhere = place !== placeAt(list, item);
    mark(isElsewhere ? place : null);
    if (dataTransfer) dataTransfer.dropEffect = isElsewhere ? "move" : "none";
  }, { signal });
  list.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && list.contains(relatedTarget))) mark(null);
  }, { signal });
  signal.addEventListener("abort", () => mark(null));
}

/**
 * @param {ConversationList} list
 * @param {HTMLElement} item
 * @param {EventTarget | null} target what it was dropped on
 */
export async function drop(list, item, target) {
  const place = placeAt(list, target);
  if (place === placeAt(list, item)) return;
  try {
    const path = find(item, "a.conversation-link", HTMLAnchorElement).href;
    moved(list, await postJson(`${path}move/`, { folder: place.dataset.folder ?? "" }));
  } catch (error) {
    toast(messageOf(error));
  }
}

/**
 * @param {ConversationList} list
 * @param {EventTarget | null} target in the list
 * @returns {HTMLElement} the folder around it, otherwise the list
 */
function placeAt(list, target) {
  const element = target instanceof Node && !(target instanceof Element) ? target.parentElement : target;
  const folder = element instanceof Element ? element.closest(".folder") : null;
  return folder instanceof HTMLElement ? folder : list;
}
