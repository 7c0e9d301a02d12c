// Marks the conversations in the list that have unsent text in their message box, in whichever tab it was written, and
// the closed folders that they are in.

import { Drafts } from "../composer/drafts.js";
import { lifeOf } from "../page/dom.js";
import { read } from "../page/server.js";
import { textStorage } from "../page/storage.js";
import { mark } from "./entries.js";

/** As many as the server answers for. */
const MAX_ASKED = 100;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * @param {HTMLElement} list of conversations
 * @param {string} person whose drafts they are
 */
export function markDrafts(list, person) {
  const storage = textStorage();
  const drafts = new Drafts(storage, person);
  const prefix = drafts.key("");
  /** The open conversation needs no mark: its message box is visible. */
  const open = list.closest("chat-page")?.getAttribute("data-conversation") ?? "";
  /** The folders of conversations that the page has not loaded; empty for none. @type {Map<string, string>} */
  const elsewhere = new Map([[open, ""]]);

  const show = () => {
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
    const ids = keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    const written = new Set(ids.filter((id) => ID.test(id) && drafts.load(id).text.trim()));
    const folders = new Map(elsewhere);
    for (const item of all(list, ".conversation-item")) {
      const { conversation = "" } = item.dataset;
      mark(item, "draft", written.has(conversation));
      const isOpen = item.querySelector("[aria-current]") !== null;
      folders.set(conversation, (!isOpen && item.closest(".folder")?.getAttribute("data-folder")) || "");
    }
    const marked = new Set([...written].map((id) => folders.get(id)));
    for (const folder of all(list, ".folder")) {
      for (const head of all(folder, ".folder-head")) {
        mark(head, "draft", marked.has(folder.dataset.folder), ".folder-name");
      }
    }
    const unknown = [...written].filter((id) => !folders.has(id)).slice(0, MAX_ASKED);
    if (unknown.length && list.querySelector(".folder")) void ask(unknown);
  };

  /** @param {string[]} conversations */
  const ask = async (conversations) => {
    for (const id of conversations) elsewhere.set(id, "");
    // Without an answer, they are marked once their folder is open.
    const answer = await read(`/folders/of/?conversations=${conversations.join()}`).catch(() => "{}");
    for (const [id, folder] of Object.entries(JSON.parse(answer))) elsewhere.set(id, String(folder));
    show();
  };

  const signal = lifeOf(list);
  // Without a key, everything was removed.
  addEventListener("storage", ({ key }) => (key === null || key.startsWith(prefix)) && show(), { signal });
  addEventListener("chat:draft", show, { signal });
  // Entries come and go, and the server knows no drafts.
  new MutationObserver(show).observe(list, { childList: true, subtree: true });
  show();
}

/** @param {HTMLElement} parent @param {string} selector */
function all(parent, selector) {
  return [...parent.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);
}
