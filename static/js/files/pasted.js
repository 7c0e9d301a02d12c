// A long text that was pasted may be a file instead, and text again.

import { t } from "../language/words.js";
import { toast } from "../page/toasts.js";

/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { Chip } from "./chip.js" */

/**
 * @param {ChatComposer} composer
 * @param {string} text
 * @param {(file: File) => Chip | undefined} add
 */
export function offerText(composer, text, add) {
  const label = t("Attach it as a file");
  toast(t("You pasted a long text."), { label, run: () => {
    const before = composer.text;
    if (!before.includes(text)) return;
    composer.text = before.replace(text, () => "");
    const chip = add(new File([text], `${t("Pasted text")}.txt`, { type: "text/plain" }));
    toast(t("The text is a file now."), { label: t("Undo"), run: () => {
      chip?.remove();
      composer.text = before;
    } });
  } });
}
