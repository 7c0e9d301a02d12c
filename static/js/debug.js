// The debug view's entry.

import "./site.js";
import "./debug-view.js";
