// Loads the file modules when somebody first attaches a file, with the button or by dragging or pasting anywhere on the
// page, or already has files.

import { laterStyles } from "../windows/later-styles.js";

/** @typedef {Event & Partial<ClipboardEvent & DragEvent>} FileEvent */

const LONG_TEXT = 8_000;

/** @param {import("../chat/composer.js").ChatComposer} composer */
export function filesOnDemand(composer) {
  const { files: some } = composer.dataset;
  const bring = (/** @type {[string, File[], string]} */ ...all) => void Promise.all([
    import("./pending-files.js"), laterStyles(),
  ]).then(([made]) => made.bring(composer, ...all));
  if (some === "") bring(some, [], some);
  composer.querySelector(".earlier")?.addEventListener("click", () => bring("earlier", [], ""));
  for (const name of ["change", "dragover", "drop", "paste"]) {
    addEventListener(name, (/** @type {FileEvent} */ event) => {
      const from = event.clipboardData ?? event.dataTransfer ?? event.target;
      const { files, types } = /** @type {Partial<DataTransfer>} */ (from);
      const text = event.clipboardData?.getData("text") ?? "";
      if (files?.length || types?.includes("Files")) event.preventDefault();
      else if (text.length < LONG_TEXT) return;
      bring(name, [...(files ?? [])], text);
    });
  }
}
