// The labels of a frame in the debug view. Above it: its header fields, and why people do not see it.
// Below it: how long it took.

import { number, t, tn } from "../language/words.js";
import { find, seek } from "../page/dom.js";

/**
 * @param {HTMLElement} frame
 * @param {Record<string, string>} header
 * @param {string | null | undefined} why absent if people see the frame
 */
export function label(frame, header, why) {
  const head = find(frame, ".frame-head", HTMLElement);
  const chips = Object.entries(header ?? {}).filter(([, value]) => value !== null && value !== "");
  head.prepend(...chips.map(([name, value]) => chip(name, String(value))));
  frame.classList.add(why ? "frame-hidden" : "frame-visible");
  find(frame, ".frame-why", HTMLElement).textContent = why ? t("Hidden. %(why)s", { why: t(why) }) : "";
  // Beside a hidden frame the page shows why it is hidden, not its text.
  if (why) seek(frame, ".frame-seen-text", HTMLElement)?.remove();
}

/**
 * Replaces the labels of a frame.
 * @param {HTMLElement} frame
 * @param {Record<string, string>} header
 * @param {string | null | undefined} why
 */
export function relabel(frame, header, why) {
  for (const old of find(frame, ".frame-head", HTMLElement).querySelectorAll(".chip")) old.remove();
  frame.classList.remove("frame-visible", "frame-hidden");
  label(frame, header, why);
}

/**
 * The line below a finished frame.
 * @param {HTMLElement} frame
 * @param {number} took in seconds
 * @param {string | null | undefined} terminator absent if the frame was finished before the page saw it
 * @param {string | null | undefined} code of the error that it ended with
 */
export function sumUp(frame, took, terminator, code) {
  const seconds = number(took, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const length = find(frame, ".frame-text", HTMLElement).textContent?.length ?? 0;
  const facts = [
    terminator && t("took %(seconds)s s", { seconds }),
    tn("%(n)s character", "%(n)s characters", length),
    terminator && t("ends with %(sign)s", { sign: terminator }),
    code,
  ];
  find(frame, ".frame-foot", HTMLElement).textContent = facts.filter(Boolean).join(" · ");
}

/**
 * @param {string} name
 * @param {string} value
 */
function chip(name, value) {
  const element = document.createElement("span");
  element.className = "chip";
  element.dataset.name = name;
  element.dataset.value = value;
  for (const [kind, text] of [["name", name], ["value", value]]) {
    const part = document.createElement("span");
    part.className = `chip-${kind}`;
    part.textContent = text ?? "";
    element.append(part, " ");
  }
  return element;
}
