// The text for how full a model's context is.

import { number, t, tn } from "../language/words.js";

/**
 * @param {number} percent of what the model can read at once; 0 if unknown
 * @param {number} leftOut how many of the oldest questions the model was not shown
 * @returns {string} empty if there is nothing to show
 */
export function contextText(percent, leftOut) {
  const share = number(percent / 100, { style: "percent" });
  const full = percent > 0 ? t("About %(share)s of what the model can read at once", { share }) : "";
  const left = leftOut > 0 ? tn("Oldest question left out", "Oldest %(n)s questions left out", leftOut) : "";
  return [left, full].filter(Boolean).join(" · "); // a narrow screen cuts the end
}
