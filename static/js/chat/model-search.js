// The search box beside the model choice, shown if there are many models: it narrows the choice to matching ones.

import { seek } from "../page/dom.js";

start();

/** Makes the search box work, of the page that is shown. */
export function start() {
  const search = seek(document, ".model-search", HTMLInputElement);
  const select = seek(document, "select[name=choice]", HTMLSelectElement);
  if (!search || !select) return;
  const all = [...select.options];

  const narrow = () => {
    const { value } = select;
    // The chosen model stays in the list, so that searching alone changes nothing.
    const found = new Set(matching(all, search.value));
    select.replaceChildren(...all.filter((option) => found.has(option) || option.value === value));
    select.value = value;
    search.classList.toggle("model-search-empty", found.size === 0);
  };

  const clear = () => {
    search.value = "";
    narrow();
  };

  search.hidden = false;
  search.addEventListener("input", narrow);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape" && event.key !== "ArrowDown") return;
    // Enter would send the message, and Escape stop the answer.
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") return clear();
    const [first] = matching(all, search.value);
    if (event.key === "Enter" && first && search.value.trim()) {
      select.value = first.value;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }
    select.focus();
  });
  select.addEventListener("change", clear);
}

// Filters names by a search: a match contains each of its words, in any order and case.

/**
 * @template {{ text: string }} Named
 * @param {readonly Named[]} offers
 * @param {string} search
 * @returns {Named[]}
 */
export function matching(offers, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return offers.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}
