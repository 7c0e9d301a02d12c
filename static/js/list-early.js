// Hides the list of conversations before the first paint, if the person had folded it away. It is a classic script in
// the head on purpose: a module would run too late, and the page would jump.
(() => {
  try {
    if (localStorage.getItem("chatui:list") === "folded") document.documentElement.dataset.list = "folded";
  } catch {
    // Storage may be forbidden; then the list is shown.
  }
})();
