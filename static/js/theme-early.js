// Sets the chosen appearance before the first paint. A classic script in the head on purpose: a module would run too
// late and flash.
(() => {
  try {
    const theme = localStorage.getItem("chatui:theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's choice then stands.
  }
})();
