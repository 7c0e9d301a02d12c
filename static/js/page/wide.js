// Parts that may be wider than the page (code, tables, formulas): shows at which side they go on, names those that can
// be reached by keyboard, and wraps the lines of code for people who want that.

import { laterStyles } from "../exchange/later-styles.js";
import { recall, remember } from "./storage.js";

const WRAP_KEY = "chatui:wrap";
const root = document.documentElement;
/** So much may stick out of a formula whose last letter leans, without hiding anything. */
const OVERHANG_PX = 4;

/** The names of the parts that have none while they are not wide. @type {WeakMap<HTMLElement, string>} */
const names = new WeakMap();
const resized = new ResizeObserver((entries) => {
  const places = entries.map(({ target }) => (target instanceof HTMLTableElement ? target.parentElement : target));
  measure([...new Set(places)].filter((place) => place instanceof HTMLElement));
});

/**
 * @param {HTMLElement} place the element that scrolls
 * @param {string} [label] its name, where it has none of its own
 */
export function watch(place, label) {
  if (label) names.set(place, label);
  resized.observe(place);
  const table = place.querySelector(":scope > table");
  if (table) resized.observe(table);
}

/**
 * Reads all sizes before anything is written, so that the layout is computed once.
 * @param {HTMLElement[]} places
 */
function measure(places) {
  for (const [place, more] of places.map((each) => /** @type {const} */ ([each, sides(each)]))) show(place, more);
}

/**
 * The sides at which a part goes on; null if it is not wide.
 * @param {HTMLElement} place
 * @returns {string | null}
 */
function sides({ scrollWidth, clientWidth, scrollLeft }) {
  const room = scrollWidth - clientWidth;
  if (room <= OVERHANG_PX) return null;
  const at = Math.abs(scrollLeft); // from right to left it is negative
  return `${at > 1 ? "start " : ""}${at < room - 1 ? "end" : ""}`;
}

/**
 * @param {HTMLElement} place
 * @param {string | null} more
 */
function show(place, more) {
  if (more !== null) withStyles();
  if (more === null) delete place.dataset.more;
  else if (place.dataset.more !== more) place.dataset.more = more;
  const button = place.parentElement?.querySelector(":scope > .code-head > [data-action=wrap-lines]");
  if (button instanceof HTMLElement) button.hidden = more === null && root.dataset.wrapLines === undefined;
  const name = names.get(place);
  const isNamed = more !== null;
  if (!name || isNamed === (place.role === "region")) return;
  place.role = isNamed ? "region" : null;
  place.ariaLabel = isNamed ? name : null;
  if (isNamed) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

document.addEventListener("scroll", ({ target }) => {
  if (target instanceof HTMLElement && target.dataset.more !== undefined) measure([target]);
}, { capture: true, passive: true });

/** @type {WeakSet<Element>} */
const watched = new WeakSet();

/**
 * Watches the code in a block, and makes the buttons above it work. The choice to wrap lines is one for all code, and
 * stays in this browser.
 * @param {Element} block
 */
export function watchCode(block) {
  for (const pre of block.querySelectorAll(".code-frame > pre")) {
    if (!(pre instanceof HTMLElement) || watched.has(pre)) continue;
    watched.add(pre);
    watch(pre);
    const button = pre.parentElement?.querySelector("[data-action=wrap-lines]");
    if (!(button instanceof HTMLElement)) continue;
    button.ariaPressed = String(root.dataset.wrapLines !== undefined);
    button.addEventListener("click", () => {
      const wraps = root.dataset.wrapLines === undefined;
      remember(WRAP_KEY, wraps ? "yes" : null);
      wrap(wraps);
    });
  }
}

function withStyles() {
  laterStyles().catch(() => {}); // the next one tries again
}

/** @param {boolean} wraps */
function wrap(wraps) {
  if (wraps) withStyles();
  if (wraps) root.dataset.wrapLines = "";
  else delete root.dataset.wrapLines;
  for (const button of document.querySelectorAll("[data-action=wrap-lines]")) button.ariaPressed = String(wraps);
  measure([...document.querySelectorAll(".code-frame > pre")].filter((pre) => pre instanceof HTMLElement));
}

wrap(recall(WRAP_KEY) !== null);
addEventListener("storage", ({ key, newValue }) => {
  if (key === WRAP_KEY) wrap(newValue !== null);
});
