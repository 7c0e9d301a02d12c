// The script of the settings page, which also works without it.

import "./site.js";
import { find } from "./page/dom.js";
import { ENTER_KEY } from "./page/shortcut-bindings.js";
import { recall, remember } from "./page/storage.js";

document.querySelector("form[data-settings]")?.addEventListener("submit", () => {
  try {
    // A theme chosen for all browsers applies in this one too.
    localStorage.removeItem("chatui:theme");
  } catch {
    // Storage may be forbidden; then there is nothing to remove.
  }
});

// Whether Enter sends is a choice of this browser, as in the sheet of shortcuts, which phones have no key for. What
// applies without a choice is decided as in "early.js".
const here = find(document, ".settings-here", HTMLElement);
const enter = find(here, "input[name=enter]", HTMLInputElement);
const show = () => {
  enter.checked = (recall(ENTER_KEY) ?? (matchMedia("(pointer: coarse)").matches ? "line" : "send")) !== "line";
};
enter.addEventListener("change", () => remember(ENTER_KEY, enter.checked ? "send" : "line"));
addEventListener("storage", show);
show();
here.hidden = false;
