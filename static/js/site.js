// What every page runs: the appearance switch and the menus.

import "./theme-toggle.js";
import { placeMenus } from "./menus.js";

placeMenus();
