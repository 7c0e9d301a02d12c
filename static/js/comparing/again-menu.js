// The menu "Another model" of an answer: the models that the message box offers. The chosen model writes another answer
// beside the existing ones, and becomes the choice at the message box.

import { closestTo, fromTemplate, seek } from "../page/dom.js";
import { menuOpener } from "../page/menus.js";
import { toast } from "../page/toasts.js";
import { refusal } from "../language/refusals.js";
import { Exchange } from "../exchange/exchange.js";

/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { Comparison } from "./comparison.js" */

export class AgainMenu {
  #transcript;
  #comparison;

  /**
   * @param {ChatTranscript} transcript
   * @param {() => Promise<Comparison | null>} comparison
   */
  constructor(transcript, comparison) {
    this.#transcript = transcript;
    this.#comparison = comparison;
  }

  listen() {
    document.addEventListener("beforetoggle", this.#filled, { capture: true });
    document.addEventListener("click", this.#chosen);
  }

  /** @param {Event} event */
  #filled = ({ target }) => {
    if (!(target instanceof HTMLElement) || target.id !== "again-menu") return;
    const offers = [...(choices()?.options ?? [])];
    target.replaceChildren(...offers.map((offer) => {
      const item = fromTemplate("again-item", HTMLElement);
      item.dataset.choice = offer.value;
      item.textContent = offer.text;
      item.dir = offer.dir;
      return item;
    }));
  };

  /** @param {Event} event */
  #chosen = async (event) => {
    const item = closestTo(event, "[data-action=answer-again-with]");
    const element = menuOpener()?.closest(".exchange");
    const select = choices();
    if (!item || !(element instanceof HTMLElement) || !select) return;
    const exchange = Exchange.of(element);
    if (isBusy()) return toast(refusal("E-X-BUSY"));
    const isShown = await (await this.#comparison())?.show(exchange, item.textContent ?? "");
    const { question } = exchange;
    if (!isShown || !question) return;
    // Meanwhile the person may have asked something else, here or in another tab.
    if (isBusy()) return toast(refusal("E-X-BUSY"));
    select.value = item.dataset.choice ?? "";
    this.#transcript.dispatchEvent(new CustomEvent("chat:regenerate", { detail: { question } }));
  };
}

/** Whether an answer is being written or requested: the server would refuse a second one. */
function isBusy() {
  const composer = /** @type {ChatComposer | null} */ (seek(document, "chat-composer", HTMLElement));
  return composer?.isRunning ?? false;
}

function choices() {
  return seek(document, "chat-composer select[name=choice]", HTMLSelectElement);
}
