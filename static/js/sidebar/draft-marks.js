// Marks the conversations in the list that have unsent text in their message box, in whichever tab it was written.

import { Drafts } from "../composer/drafts.js";
import { textStorage } from "../page/storage.js";
import { mark } from "./entries.js";

/**
 * @param {HTMLElement} list of conversations
 * @param {string} person whose drafts they are
 */
export function markDrafts(list, person) {
  const drafts = new Drafts(textStorage(), person);
  const show = () => {
    for (const item of list.querySelectorAll(".conversation-item")) {
      if (!(item instanceof HTMLElement)) continue;
      mark(item, "draft", drafts.load(item.dataset.conversation ?? "").text.trim() !== "");
    }
  };
  // Without a key, everything was removed.
  addEventListener("storage", ({ key }) => (key === null || key.startsWith(drafts.key(""))) && show());
  addEventListener("chat:draft", show);
  // Entries come and go, and the server knows no drafts.
  new MutationObserver(show).observe(list, { childList: true, subtree: true });
  show();
}
