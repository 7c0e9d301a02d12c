// An answer as rich text for the clipboard, without the page's own controls.

const OURS = ".code-head, iframe, button, .diagram-failed, .visually-hidden";
const KEPT = new Set(["href", "start", "dir", "align"]);

/**
 * @param {Element} part a message on the page
 * @returns {string} HTML
 */
export function richText(part) {
  const copy = /** @type {Element} */ (part.cloneNode(true));
  for (const element of copy.querySelectorAll(OURS)) element.remove();
  for (const formula of copy.querySelectorAll(".math")) formula.replaceWith(texOf(formula));
  for (const frame of copy.querySelectorAll(".code-frame")) frame.replaceWith(...frame.children);
  for (const box of copy.querySelectorAll("input")) box.replaceWith(box.checked ? "☑" : "☐");
  for (const coloured of copy.querySelectorAll("code span")) coloured.replaceWith(...coloured.childNodes);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name } of [...element.attributes]) if (!KEPT.has(name)) element.removeAttribute(name);
  }
  return new XMLSerializer().serializeToString(copy);
}

/**
 * The source of a formula: more programs can read it than the typeset form.
 * @param {Element} formula
 */
function texOf(formula) {
  const tex = formula.querySelector("annotation")?.textContent ?? formula.textContent ?? "";
  return formula.classList.contains("math-display") ? `\\[${tex}\\]` : `\\(${tex}\\)`;
}
