// Makes a textarea grow with its text, up to the limit in the style sheet.

/** @param {HTMLTextAreaElement} area */
export function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
