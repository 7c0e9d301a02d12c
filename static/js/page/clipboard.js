// Copies text, also where the browser has no modern clipboard (a page served over plain http in a home network).

/**
 * Copies what a promise will give. The promise goes to the clipboard as it is: Safari allows no waiting between click
 * and copy.
 * @param {Promise<string>} text
 */
export async function copyLater(text) {
  if (navigator.clipboard && "ClipboardItem" in globalThis) {
    try {
      const blob = text.then((plain) => new Blob([plain], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      return;
    } catch {
      // Older browsers take no promise, some refuse without the page in front: try the plain ways.
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
