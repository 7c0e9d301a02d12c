// What every page runs: the appearance switch and the menus.

import "./page/theme-toggle.js";
import { placeMenus } from "./page/menus.js";

placeMenus();
