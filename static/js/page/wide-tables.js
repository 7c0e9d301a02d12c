// Puts tables that are wider than the page into a named scroll area that can be reached by keyboard.

import { t } from "../language/words.js";

const LABEL = t("Wide table: it can be scrolled sideways");

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) name(target instanceof HTMLTableElement ? target.parentElement : target);
});

/** @param {Element} block closed */
export function reachWideTables(block) {
  for (const table of block.querySelectorAll("table")) {
    const place = placeOf(table);
    name(place);
    resized.observe(place);
    resized.observe(table);
  }
}

/**
 * The scrolling element: the block of the table, or a new element around a table in a list or a quote.
 * @param {HTMLTableElement} table
 */
function placeOf(table) {
  const around = table.parentElement;
  if (around?.matches(".block, .table-place")) return around;
  const place = document.createElement("div");
  place.className = "table-place";
  table.replaceWith(place);
  place.append(table);
  return place;
}

/** @param {Element | null} place */
function name(place) {
  if (!(place instanceof HTMLElement)) return;
  const isWide = place.scrollWidth > place.clientWidth;
  if (isWide === (place.role === "region")) return;
  place.role = isWide ? "region" : null;
  place.ariaLabel = isWide ? LABEL : null;
  if (isWide) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}
