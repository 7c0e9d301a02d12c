// Copies text to the clipboard, also on pages served over plain http, where browsers lack the modern clipboard.

/**
 * Copies the text that a promise resolves to. The promise itself is given to the clipboard: Safari allows no waiting
 * between click and copy.
 * @param {Promise<string>} text
 * @param {Promise<string>} [html] the same as rich text, for programs that take it
 */
export async function copyLater(text, html) {
  if (navigator.clipboard && "ClipboardItem" in globalThis) {
    try {
      const blob = text.then((plain) => new Blob([plain], { type: "text/plain" }));
      /** @type {Record<string, Blob | Promise<Blob>>} */
      const kinds = { "text/plain": blob };
      if (html) kinds["text/html"] = html.then((rich) => new Blob([rich], { type: "text/html" }));
      await navigator.clipboard.write([new ClipboardItem(kinds)]);
      return;
    } catch {
      // Older browsers accept no promise, and some refuse when the page is not in front: try the simpler ways.
    }
  }
  await copy(await text);
}

/** @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Fall through to the old way.
    }
  }
  copyBySelection(text);
}

/** @param {string} text */
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!done) throw new Error("the browser did not allow copying");
}
