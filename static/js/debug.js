// The debug view's entry point.

import "./site.js";
import { keepFocusInView } from "./debug/view.js";
import "./debug/search.js";
import "./debug/source.js";

keepFocusInView();
