// The menu of tools, fetched when it is opened.

import { seek } from "../page/dom.js";
import { laterStyles } from "../windows/later-styles.js";
import { keepToolsOff, toolsOff } from "./switched-off.js";

export function listenToToolsMenu() {
  const menu = seek(document, "#tools-menu", HTMLElement);
  menu?.addEventListener("beforetoggle", (event) => {
    const { newState } = /** @type {ToggleEvent} */ (event);
    if (newState !== "open") return;
    const kept = { toolsOff, keepToolsOff };
    void Promise.all([import("./menu.js"), laterStyles()]).then(([made]) => made.open(menu, kept));
  });
}
