// The script of every page: the theme switch, the menus and signing out.

import { placeMenus } from "./page/menus.js";
import { watchLeaving } from "./composer/leaving.js";

placeMenus();
watchLeaving();
