// Finishes a closed block: code gets its head line and colours, mathematics is set, a wide table can be scrolled by
// keyboard. In idle time, newest first.

import { decorateCode, highlightCode } from "./code.js";
import { setMathematics } from "./mathematics.js";

/** @type {Element[]} */
const queue = [];
let scheduled = false;

/** @param {Element} block closed: it will not change any more */
export function finishBlock(block) {
  decorateCode(block);
  if (!block.querySelector("pre > code, .math, table")) return;
  queue.push(block);
  schedule();
}

/**
 * Finishes every closed block under this element.
 * @param {ParentNode} root
 */
export function finishAll(root) {
  for (const block of root.querySelectorAll("[data-block]")) finishBlock(block);
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  if ("requestIdleCallback" in globalThis) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 16);
}

/** One block per turn of the event loop, so that no task gets long. */
async function work() {
  const block = queue.pop();
  scheduled = false;
  if (queue.length) schedule();
  if (!block?.isConnected) return;
  await highlightCode(block);
  await setMathematics(block);
  reachWideTables(block);
}

/**
 * A table that is wider than the page scrolls; the keyboard must get to it.
 * @param {Element} block
 */
function reachWideTables(block) {
  for (const table of block.querySelectorAll("table")) {
    const around = table.parentElement;
    if (!around || around.scrollWidth <= around.clientWidth) continue;
    around.tabIndex = 0;
    around.role = "group";
    around.ariaLabel = "Wide table";
  }
}
