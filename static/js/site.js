// The script of every page: the theme switch, the language, the menus and signing out.

import { applyLanguages, placeMenus } from "./page/menus.js";
import { watchLeaving } from "./composer/leaving.js";

placeMenus();
applyLanguages();
watchLeaving();
