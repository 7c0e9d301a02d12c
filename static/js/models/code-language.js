// Detects the language of code.

/**
 * The language that a code element's class names, or null.
 * @param {string} className
 */
export function languageOf(className) {
  return /(?:^|\s)language-([^\s]+)/.exec(className)?.[1]?.toLowerCase() ?? null;
}
