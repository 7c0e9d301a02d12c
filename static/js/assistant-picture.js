// The script of an assistant's form: makes a picture of any kind a small square PNG, shows it, and lets the form send
// it instead. Without it, the form takes small PNGs. The server trusts neither.

import { t } from "./language/words.js";
import "./site.js";
import { find } from "./page/dom.js";

const MAX_BYTES = 24 * 1024;
const SIDES_PX = [128, 96, 64, 48]; // the largest that the server takes is first; 48 always fits

const part = find(document, ".assistant-picture", HTMLElement);
const field = find(part, "input[type=file]", HTMLInputElement);
const preview = find(part, ".assistant-preview", HTMLElement);
const without = find(part, ".field-choices", HTMLElement);
const problem = find(part, ".field-problem", HTMLElement);
const stored = [...preview.childNodes];
const kept = part.querySelector("input[type=hidden]");

field.accept = "image/*";
field.addEventListener("change", () => void changed());
if (kept instanceof HTMLInputElement) void showKept(kept.value);

async function changed() {
  const file = field.files?.[0];
  problem.hidden = true;
  if (!file) return showStored();
  try {
    const { canvas, png } = await small(await createImageBitmap(file));
    if (field.files?.[0] !== file) return; // another one was chosen meanwhile
    const sent = new DataTransfer();
    sent.items.add(new File([png], `${file.name.replace(/\.[^.]*$/, "")}.png`, { type: png.type }));
    field.files = sent.files;
    show(canvas);
    find(without, "input", HTMLInputElement).checked = false;
  } catch {
    if (field.files?.[0] !== file) return;
    field.value = "";
    problem.textContent = t("Your browser cannot read this file as a picture.");
    problem.hidden = false;
    showStored();
  }
}

/** What the form sends if no file is chosen. */
function showStored() {
  if (kept instanceof HTMLInputElement) return void showKept(kept.value);
  preview.replaceChildren(...stored);
  preview.hidden = without.hidden = stored.length === 0;
}

/** @param {string} base64 */
async function showKept(base64) {
  const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  show(drawn(await createImageBitmap(new Blob([bytes])), SIDES_PX[0] ?? 0));
}

/** @param {HTMLCanvasElement} canvas */
function show(canvas) {
  preview.replaceChildren(canvas);
  preview.hidden = without.hidden = false;
}

/**
 * The largest square that fits into the bytes.
 * @param {ImageBitmap} picture
 * @returns {Promise<{ canvas: HTMLCanvasElement, png: Blob }>}
 */
async function small(picture) {
  for (const side of SIDES_PX) {
    const canvas = drawn(picture, side);
    const png = await pngOf(canvas);
    if (png && png.size <= MAX_BYTES) return { canvas, png };
  }
  throw new Error("no picture");
}

/**
 * The middle of a picture as a square.
 * @param {ImageBitmap} picture
 * @param {number} side in pixels
 */
function drawn(picture, side) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.imageSmoothingQuality = "high";
  const cut = Math.min(picture.width, picture.height);
  context.drawImage(picture, (picture.width - cut) / 2, (picture.height - cut) / 2, cut, cut, 0, 0, side, side);
  return canvas;
}

/** @param {HTMLCanvasElement} canvas @returns {Promise<Blob | null>} */
function pngOf(canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
