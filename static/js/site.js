// The script of every page: the theme switch, the language, the menus, passwords and signing out.

import { applyLanguages, placeMenus } from "./page/menus.js";
import { watchLeaving } from "./composer/leaving.js";

placeMenus();
applyLanguages();
watchLeaving();
if (document.querySelector("form[data-tries-again]")) void import("./page/trying-again.js");
// A page for chatting, which most loads are of, has no such form.
if (!document.querySelector("chat-page")) {
  void import("./page/first-field.js").then((module) => module.focusFirstField(), () => {});
}
if (document.querySelector(".password-show")) {
  void import("./page/passwords.js").then((module) => module.preparePasswords(), () => {});
}
