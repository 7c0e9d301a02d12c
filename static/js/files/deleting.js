// Deletes a document that was sent with a question.

import { t } from "../language/words.js";
import { find, seek } from "../page/dom.js";
import { postJson } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** @param {HTMLElement} button */
export function askToDelete(button) {
  const item = button.closest(".file");
  if (!(item instanceof HTMLElement)) return;
  toast(t("Permanently delete this document? Answers and Python output are kept."), {
    label: t("Delete"),
    run: () => void postJson(button.dataset.file ?? "").then(
      () => gone(item),
      () => toast(t("That did not work. Please reload the page.")),
    ),
  });
}

/** @param {HTMLElement} item */
function gone(item) {
  const link = seek(item, ".file-link", HTMLElement);
  link?.removeAttribute("href");
  find(item, ".file-name", HTMLElement).textContent = t("A document that was deleted");
  for (const each of item.querySelectorAll(".file-size, .question-tools")) each.remove();
}
