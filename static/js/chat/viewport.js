// Keeps the composer above an on-screen keyboard, in browsers that lay the keyboard over the page.

export function fitKeyboard() {
  const view = window.visualViewport;
  if (!view) return;
  const fit = () => {
    if (view.scale !== 1) return;
    document.documentElement.style.setProperty("--viewport", `${view.height}px`);
    if (view.offsetTop) scrollTo(0, 0);
  };
  view.addEventListener("resize", fit);
  fit();
}
