// The menu "Another model" of an answer: the models that the message box offers. The chosen model writes another answer
// beside the existing ones, and becomes the choice at the message box.

import { closestTo, fromTemplate, seek } from "../page/dom.js";
import { menuOpener } from "../page/menus.js";
import { Exchange } from "../exchange/exchange.js";

/** @import { Comparison } from "./comparison.js" */

/** @param {() => Promise<Comparison | null>} comparison */
export function listenToAgainMenu(comparison) {
  document.addEventListener("beforetoggle", filled, { capture: true });
  document.addEventListener("click", async (event) => {
    const item = closestTo(event, "[data-action=answer-again-with]");
    const element = menuOpener()?.closest(".exchange");
    if (item && element instanceof HTMLElement) await (await comparison())?.answerAgain(Exchange.of(element), item);
  });
}

/** @param {Event} event */
function filled({ target }) {
  if (!(target instanceof HTMLElement) || target.id !== "again-menu") return;
  const offers = [...(seek(document, "chat-composer select[name=choice]", HTMLSelectElement)?.options ?? [])];
  target.replaceChildren(...offers.map((offer) => {
    const item = fromTemplate("again-item", HTMLElement);
    item.dataset.choice = offer.value;
    item.textContent = offer.text;
    item.dir = offer.dir;
    return item;
  }));
}
