// Turns a long pasted text into a file, and back into text.

import { t } from "../language/words.js";
import { toast } from "../page/toasts.js";

/** @import { Chip } from "./chip.js" */
/** @typedef {HTMLTextAreaElement | import("../chat/composer.js").ChatComposer} Box */

/**
 * @param {Box} box
 * @param {string} text
 * @param {(file: File) => Chip | undefined} add
 */
export function offerText(box, text, add) {
  const label = t("Attach it as a file");
  toast(t("You pasted a long text."), { label, run: () => {
    const before = read(box);
    if (!before.includes(text)) return;
    write(box, before.replace(text, () => ""));
    const chip = add(new File([text], `${t("Pasted text")}.txt`, { type: "text/plain" }));
    toast(t("The text was attached as a file."), { label: t("Undo"), run: () => {
      chip?.remove();
      write(box, before);
    } });
  } });
}

/** @param {Box} box */
function read(box) {
  return box instanceof HTMLTextAreaElement ? box.value : box.text;
}

/** @param {Box} box @param {string} text */
function write(box, text) {
  if (!(box instanceof HTMLTextAreaElement)) return void (box.text = text);
  box.value = text;
  box.dispatchEvent(new Event("input"));
}
