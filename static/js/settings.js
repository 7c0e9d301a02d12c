// The script of the page of settings, which can be used without it.

import "./site.js";

document.querySelector("form[data-settings]")?.addEventListener("submit", () => {
  try {
    // What was chosen for all browsers counts in this one, too.
    localStorage.removeItem("chatui:theme");
  } catch {
    // Storage may be forbidden; then there is nothing to take back.
  }
});
