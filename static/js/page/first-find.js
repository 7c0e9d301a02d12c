// Loads the find bar on first use: most conversations are read without it.

import { t } from "../language/words.js";
import { closestTo, find, lifeOf, pageOf } from "./dom.js";
import { menuOpener, toast } from "./menus.js";
import { laterStyles } from "../exchange/later-styles.js";

/** @import { PageParts, FindBar } from "./find-bar.js" */

/**
 * @param {PageParts} page
 * @returns {{ arrive: () => void, close: () => boolean }} `arrive`: shows what the address says is sought; `close`:
 * whether the bar was open
 */
export function findOnDemand(page) {
  /** @type {Promise<FindBar> | null} */
  let loading = null;
  const load = () => (loading ??= begun(page));
  const element = find(pageOf(page.transcript), ".find-bar", HTMLElement);
  const text = find(element, "input", HTMLInputElement);
  /** @param {(bar: FindBar) => void} use */
  const use = (use) =>
    void load().then(use, () => {
      loading = null;
      element.hidden = true;
      toast(t("There is no connection to the server. Please try again when it is back."));
    });
  /** @type {Element | null} */
  let before = null;
  /** What is typed from now on is the search text, not a shortcut. @param {Element | null} opener */
  const open = (opener) => {
    const isNew = element.hidden;
    if (isNew) before = opener;
    element.hidden = false;
    text.focus();
    text.select();
    use((bar) => {
      if (!element.hidden) bar.open(isNew ? opener : undefined);
    });
  };
  text.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    // Also while the bar is loading. A hidden field keeps the focus until the next frame, and would swallow the
    // next keys.
    element.hidden = true;
    text.blur();
    if (before instanceof HTMLElement) before.focus();
  });
  element.addEventListener("chat:find", () => open(document.activeElement));
  document.addEventListener("click", (event) => {
    // Whoever uses a mouse goes on writing afterwards.
    const isClicked = /** @type {MouseEvent} */ (event).detail && matchMedia("(pointer: fine)").matches;
    const opener = isClicked ? document.getElementById("composer-text") : menuOpener();
    if (closestTo(event, "#top-menu [data-action=find]")) open(opener);
  }, { signal: lifeOf(element) });
  const close = () => {
    if (element.hidden) return false;
    use((bar) => bar.close());
    return true;
  };
  const arrive = () => {
    if (/[?&](words|find)=/.test(location.search)) use((bar) => bar.arrive());
    else close();
  };
  return { arrive, close };
}

/** @param {PageParts} page */
async function begun(page) {
  const [{ FindBar }] = await Promise.all([import("./find-bar.js"), laterStyles()]);
  const bar = new FindBar(page);
  bar.listen();
  return bar;
}
