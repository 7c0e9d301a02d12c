// The script of every page: the theme switch, the menus and signing out.

import "./page/theme-toggle.js";
import { watchLeaving } from "./writing/leaving.js";
import { placeMenus } from "./page/menus.js";

placeMenus();
watchLeaving();
