// A textarea that grows with its text; the style sheet sets how far.

/** @param {HTMLTextAreaElement} area */
export function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
