// Prints the page as soon as this module is loaded. Blocks that are otherwise finished in idle time, and diagrams that
// are drawn only near the screen, are finished before the browser's print dialog opens: the page cannot change while it
// is open.

void printFinished();

/** Opens the print dialog once everything is finished, or could not be loaded. */
export async function printFinished() {
  if (document.readyState !== "complete") {
    await new Promise((resolve) => addEventListener("load", resolve, { once: true }));
  }
  try {
    // What the browser skips to render has no size to draw in.
    for (const exchange of document.querySelectorAll(".exchange")) {
      if (exchange instanceof HTMLElement) exchange.style.contentVisibility = "visible";
    }
    for (const block of document.querySelectorAll("chat-transcript [data-block]")) await finish(block);
    if (document.querySelector("[data-diagram=waiting]")) await (await import("./diagrams.js")).drawAll();
  } finally {
    print();
  }
}

/** As in "page/finishing.js", which is loaded with every page and should stay small. @param {Element} block */
async function finish(block) {
  if (block.querySelector("pre > code[class]")) await (await import("./colours.js")).highlightCode(block);
  if (block.querySelector(".math")) await (await import("./mathematics.js")).setMathematics(block);
  if (block.querySelector("code.language-mermaid")) (await import("./diagrams.js")).drawDiagrams(block);
}
