// The script of the settings page, which also works without it.

import "./site.js";

document.querySelector("form[data-settings]")?.addEventListener("submit", () => {
  try {
    // A theme chosen for all browsers applies in this one too.
    localStorage.removeItem("chatui:theme");
  } catch {
    // Storage may be forbidden; then there is nothing to remove.
  }
});
