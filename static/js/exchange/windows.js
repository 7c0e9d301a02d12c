// Loads the module for more messages when the page first needs it: most conversations are short.

import { seek } from "../page/dom.js";

/**
 * Call this once the page is scrolled to where the reader starts.
 * @param {HTMLElement} transcript
 * @param {HTMLElement} scroller the part of the page that scrolls
 */
export function moreOnDemand(transcript, scroller) {
  const look = () => {
    if (!seek(transcript, ":scope > [data-more]", HTMLElement)) return;
    watching.disconnect();
    // If it cannot be loaded, the links lead to pages of their own.
    import("./more.js").then(({ MoreMessages }) => new MoreMessages(transcript, scroller).start(), () => {});
  };
  const watching = new MutationObserver(look);
  watching.observe(transcript, { childList: true });
  look();
}

// The part of a conversation that a page has.

/**
 * What the page shows after applying the server's window: exchanges above it stay, because there is only one path from
 * a question up to the first message.
 * @param {HTMLElement} transcript
 * @param {HTMLElement} fresh
 * @returns {Element[]}
 */
export function withAbove(transcript, fresh) {
  const window = [...fresh.children];
  const first = window.find((child) => child.matches(".exchange"));
  const question = first?.getAttribute("data-question");
  const shown = [...transcript.children];
  const place = question ? shown.findIndex((child) => child.getAttribute("data-question") === question) : -1;
  if (!first || place < 0) return window;
  return [...shown.slice(0, place), ...window.slice(window.indexOf(first))];
}

/**
 * Which question and answer an exchange shows, or which way a link leads. Not what of them: that may have changed.
 * @param {Element} child of a transcript
 */
export function identity(child) {
  const names = ["data-question", "data-turn", "data-imported", "data-more"];
  return names.map((name) => child.getAttribute(name)).join(" ");
}
