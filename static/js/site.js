// The script of every page: the theme switch and the menus.

import "./page/theme-toggle.js";
import { placeMenus } from "./page/menus.js";

placeMenus();
