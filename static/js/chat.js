// The chat page's entry point. It defines the custom elements, innermost first, so that each finds its children ready.

import "./site.js";
import "./exchange/answer-time.js";
import "./chat/composer.js";
import "./chat/transcript.js";
import "./sidebar/conversation-list.js";
import "./chat/page.js";
import "./installed/later.js";
