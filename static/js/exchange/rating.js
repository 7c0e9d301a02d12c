// The thumbs below an answer. Before anything is sent, a dialog says who can read what; its content is the rating page.

import { t } from "../language/words.js";
import { closestTo, find, parse, seek } from "../page/dom.js";
import { messageOf, postJson, read } from "../page/server.js";
import { toast } from "../page/menus.js";
import { showRating } from "./exchange.js";

/**
 * @param {HTMLElement} button that was pressed: a thumb
 */
export async function rate(button) {
  const group = find(document, `[data-rating="${CSS.escape(pathOf(button))}"]`, HTMLElement);
  const verdict = button.dataset.verdict ?? "";
  try {
    if (button.getAttribute("aria-pressed") === "true") return await send(group, { verdict: "" });
    await ask(`${pathOf(button)}?verdict=${verdict}`, (fields) => send(group, fields));
  } catch (error) {
    toast(messageOf(error));
  }
}

/** @param {HTMLElement} button */
function pathOf(button) {
  return button.closest("[data-rating]")?.getAttribute("data-rating") ?? "";
}

/**
 * @param {HTMLElement} group the two thumbs
 * @param {Record<string, string>} fields of the form; an empty verdict withdraws the rating
 */
async function send(group, fields) {
  await postJson(group.dataset.rating ?? "", fields);
  showRating((group.dataset.rating ?? "").split("/").at(-3) ?? "", fields.verdict);
  toast(fields.verdict ? t("Thank you. Your rating was sent.") : t("Your rating was withdrawn."));
}

/**
 * Asks for a reason. What was written stays until it could be sent.
 * @param {string} path of the page that asks for it
 * @param {(fields: Record<string, string>) => Promise<void>} sendFields
 */
async function ask(path, sendFields) {
  const page = await read(path);
  const dialog = document.createElement("dialog");
  dialog.className = "move-dialog";
  dialog.setAttribute("aria-labelledby", "rating-title");
  dialog.append(find(parse(page), ".rating", HTMLElement));
  find(document, "chat-page", HTMLElement).append(dialog);
  dialog.showModal();
  (seek(dialog, "input[type=radio]", HTMLElement) ?? find(dialog, "textarea", HTMLElement)).focus();
  dialog.addEventListener("click", (event) => {
    // A click beside the dialog hits the dialog itself.
    if (event.target === dialog || closestTo(event, "[data-action=close-rating]")) {
      event.preventDefault();
      dialog.close();
    }
  });
  dialog.addEventListener("keydown", (event) => {
    // The page's own Escape would stop a running answer.
    if (event.key === "Escape") event.stopPropagation();
  });
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    const written = [...new FormData(form, event.submitter)].map(([name, value]) => [name, String(value)]);
    form.inert = true;
    try {
      await sendFields(Object.fromEntries(written));
      dialog.close();
    } catch (error) {
      form.inert = false;
      const problem = seek(form, "[role=alert]", HTMLElement) ?? form.appendChild(document.createElement("p"));
      problem.className = "field-problem";
      problem.setAttribute("role", "alert");
      problem.textContent = messageOf(error);
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
}
