// Loads <conversation-search> when its field is first focused. On "chat:find", it dispatches "chat:search" and focuses
// the field.

import { t } from "../language/words.js";
import { find } from "../page/dom.js";
import { laterStyles } from "../windows/later-styles.js";
import { toast } from "../page/toasts.js";

export function searchOnDemand() {
  const search = find(document, "conversation-search", HTMLElement);
  const text = find(search, ".search-text", HTMLInputElement);
  const load = () => void Promise.all([import("./conversation-search.js"), laterStyles()]).catch(() => {
    toast(t("There is no connection to the server. Please try again when it is back."));
  });
  search.addEventListener("chat:find", () => {
    search.dispatchEvent(new CustomEvent("chat:search", { bubbles: true }));
    text.focus();
    text.select();
  });
  search.addEventListener("focusin", load);
  // The browser has restored a text, or somebody typed before this script ran.
  if (text.value || search.contains(document.activeElement)) load();
}
