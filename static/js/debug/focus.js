// Keeps what has the focus out from under the bars that stay at the top: browsers take it to be in view there, and do
// not scroll. How much room the bars need is in the style sheet, as "scroll-padding".

export function keepFocusInView() {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element) || target.closest(".debug-bar, .debug-search, .skip-link")) return;
    if (!target.matches(":focus-visible")) return;
    target.scrollIntoView({ block: "nearest" });
    // Frames that come near the screen only now get their true height, and move what is below them.
    requestAnimationFrame(() => {
      if (document.activeElement === target) target.scrollIntoView({ block: "nearest" });
    });
  });
}
