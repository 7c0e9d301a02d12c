// The script of every page: the theme switch, the language, the menus, passwords and signing out.

import { applyLanguages, placeMenus } from "./page/menus.js";
import { watchLeaving } from "./composer/leaving.js";
import { focusFirstField } from "./page/first-field.js";
import "./page/passwords.js";

placeMenus();
applyLanguages();
watchLeaving();
if (document.querySelector("form[data-tries-again]")) void import("./page/trying-again.js");
if (!document.querySelector("chat-page")) focusFirstField();
