// The dialog for finding a file that was sent before and sending it again.

import { t } from "../language/words.js";
import { made } from "../page/made.js";
import { postJson, read } from "../page/server.js";
import { address, toLimits } from "./chip.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { UploadedFile } from "./chip.js" */
/** @typedef {{ name: string, description: string, again: string }} Earlier */

const DELAY_MS = 200;
const MORE = t("These are the newest. Find others by name.");

/**
 * @param {ChatComposer} composer
 * @param {(taken: UploadedFile) => void} take
 */
export function showEarlier(composer, take) {
  const dialog = made("dialog", "move-dialog");
  const title = made("h2", "", t("Earlier files"));
  const head = made("div", "move-head");
  const close = made("button", "quiet", "×");
  const search = made("input", "earlier-search");
  const list = made("ul", "move-places");
  const state = made("p", "card-lead");
  title.id = "earlier-title";
  dialog.setAttribute("aria-labelledby", title.id);
  close.type = "button";
  close.setAttribute("aria-label", t("Close"));
  Object.assign(search, { type: "search", autocomplete: "off", maxLength: 200, placeholder: t("Find by name") });
  search.setAttribute("aria-label", t("Find by name"));
  state.setAttribute("role", "status");
  head.append(title, close);
  const foot = made("p", "card-lead");
  foot.append(toLimits());
  dialog.append(head, search, state, list, foot);

  let asked = 0;
  let timer = 0;
  const show = async () => {
    const mine = ++asked;
    try {
      const { files, more } = await found(search.value);
      if (mine !== asked) return;
      list.replaceChildren(...files.map((file) => item(file, choose)));
      state.textContent = more ? MORE : files.length ? "" : none(search.value);
    } catch (error) {
      if (mine === asked) state.textContent = error instanceof Error ? error.message : "";
    }
  };
  /** @param {Earlier} file */
  const choose = async (file) => {
    try {
      const answer = await postJson(address(composer.choice, file.again));
      const taken = /** @type {UploadedFile & { message?: string }} */ (answer);
      if (!taken.id) throw new Error(taken.message);
      dialog.close(); // first: it gives the focus back
      take(taken);
    } catch (error) {
      await show(); // it may have been deleted in another tab
      search.focus();
      state.textContent = error instanceof Error ? error.message : "";
    }
  };
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void show(), DELAY_MS);
  });
  close.addEventListener("click", () => dialog.close());
  // A click beside the dialog hits the dialog itself.
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  search.focus();
  void show();
}

/** @param {string} words */
async function found(words) {
  const reply = /** @type {unknown} */ (JSON.parse(await read(`/files/earlier/?${new URLSearchParams({ q: words })}`)));
  return /** @type {{ files: Earlier[], more: boolean }} */ (reply);
}

/** @param {string} words the search text */
function none(words) {
  return words.trim() ? t("No matching files.") : t("Files that you have sent can be sent again from here.");
}

/** @param {Earlier} file @param {(file: Earlier) => Promise<void>} choose */
function item(file, choose) {
  const button = made("button", "move-place");
  button.classList.add("earlier-file");
  button.type = "button";
  button.append(made("bdi", "", file.name), made("span", "earlier-description", file.description));
  button.addEventListener("click", () => void choose(file));
  const row = document.createElement("li");
  row.append(button);
  return row;
}
