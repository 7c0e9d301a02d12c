// Sets the chosen theme before the first paint. It is a classic script in the head on purpose: a module would run too
// late, and the page would flash.
(() => {
  try {
    const theme = localStorage.getItem("chatui:theme");
    if (theme) document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; then the account's theme applies.
  }
})();
