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
