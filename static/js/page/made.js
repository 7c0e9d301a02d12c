// A new element with a class and a text, for scripts that build what a page shows only on request.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {string} className
 * @param {string} [text]
 */
export function made(name, className, text = "") {
  return Object.assign(document.createElement(name), { className, textContent: text });
}
