// Keeps the focused element from being covered by the sticky bars at the top: browsers consider it visible there, and
// do not scroll. The height of the bars is in the style sheet, as "scroll-padding".

export function keepFocusInView() {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element) || target.closest(".debug-bar, .debug-search, .skip-link")) return;
    if (!target.matches(":focus-visible")) return;
    target.scrollIntoView({ block: "nearest" });
    // Frames get their true height only when they come near the screen, and then move what is below them.
    requestAnimationFrame(() => {
      if (document.activeElement === target) target.scrollIntoView({ block: "nearest" });
    });
  });
}
