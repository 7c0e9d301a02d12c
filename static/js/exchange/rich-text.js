// An answer as rich text for the clipboard, without the page's own controls.

const OURS = ".code-head, iframe, button, .diagram-failed, .visually-hidden, [hidden], template, script, svg";
const KEPT = new Set(["href", "start", "dir", "align"]);

/**
 * @param {Element} part a message on the page
 * @returns {string} HTML
 */
export function richText(part) {
  return serialized(plainCopy(/** @type {HTMLElement} */ (part.cloneNode(true))));
}

/** @param {Element} copy */
export function serialized(copy) {
  return new XMLSerializer().serializeToString(copy);
}

/**
 * Cleans a copy of something on the page: what was written is left, in plain elements, and formulas as TeX.
 * @param {HTMLElement} copy
 */
export function plainCopy(copy) {
  for (const element of copy.querySelectorAll(OURS)) element.remove();
  for (const formula of copy.querySelectorAll(".math")) {
    // A formula on lines of its own is a paragraph.
    const place = formula.matches("div") ? document.createElement("p") : document.createDocumentFragment();
    place.append(texOf(formula));
    formula.replaceWith(place);
  }
  for (const frame of copy.querySelectorAll(".code-frame")) frame.replaceWith(...frame.children);
  for (const box of copy.querySelectorAll("input")) box.replaceWith(box.checked ? "☑" : "☐");
  for (const coloured of copy.querySelectorAll("code span")) coloured.replaceWith(...coloured.childNodes);
  for (const typed of copy.querySelectorAll(".plain")) keepLines(typed);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name } of [...element.attributes]) if (!KEPT.has(name)) element.removeAttribute(name);
  }
  return copy;
}

/**
 * Line ends that only a style sheet shows.
 * @param {Element} typed
 */
function keepLines(typed) {
  const lines = (typed.textContent ?? "").split("\n");
  typed.replaceChildren(...lines.flatMap((line, index) => (index ? [document.createElement("br"), line] : [line])));
}

/**
 * The source of a formula as it was written: more programs can read it than the typeset form.
 * @param {Element} formula
 */
function texOf(formula) {
  const tex = formula.querySelector("annotation")?.textContent ?? formula.textContent ?? "";
  if (tex.startsWith("\\begin{")) return tex;
  if (formula.classList.contains("math-dollars")) return `$${tex}$`;
  return formula.classList.contains("math-display") ? `\\[${tex}\\]` : `\\(${tex}\\)`;
}
