// The debug view's entry point.

import "./site.js";
import "./debug/view.js";
import "./debug/clock.js";
import "./debug/search.js";
import "./debug/source.js";
import { keepFocusInView } from "./debug/focus.js";

keepFocusInView();
