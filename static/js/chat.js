// The chat page's entry point. It defines the custom elements, innermost first, so that each finds its children ready.

import "./site.js";
import "./exchange/answer-parts.js";
import "./composer/composer.js";
import "./chat/transcript.js";
import "./sidebar/conversation-list.js";
import "./chat/page.js";

// Loads the code for the installed app after everything else.

addEventListener("load", () => void import("./page/installed.js").then((module) => module.start(), () => {}));
