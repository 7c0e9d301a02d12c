// Code blocks: adds a header with the language and a copy button. "../code/colours.js" highlights the code.

import { t, tc } from "../language/words.js";
import { fromTemplate } from "./dom.js";
import { languageOf } from "../models/code-language.js";

/**
 * Adds the header to each code block that has none yet. This is cheap, so an open block gets it too, and nothing jumps
 * when it closes.
 * @param {Element} block
 */
export function decorateCode(block) {
  for (const pre of block.querySelectorAll("pre")) {
    if (pre.parentElement?.classList.contains("code-frame") || !pre.querySelector(":scope > code")) continue;
    const frame = document.createElement("div");
    frame.className = "code-frame";
    frame.dir = "ltr";
    const head = fromTemplate("code-head", HTMLElement);
    const label = head.querySelector(".code-language");
    const language = languageOf(pre.querySelector("code")?.className ?? "");
    if (label) label.textContent = language ?? tc("a programming language", "text");
    pre.replaceWith(frame);
    pre.tabIndex = 0;
    // A focusable element needs a name: otherwise screen readers start to read the code.
    pre.role = "group";
    pre.ariaLabel = t("Code: %(language)s", { language: label?.textContent ?? "" });
    frame.append(head, pre);
  }
}

/**
 * The text of the code block that a copy button belongs to.
 * @param {Element} button
 */
export function codeBeside(button) {
  return button.closest(".code-frame")?.querySelector("pre")?.textContent?.replace(/\n$/, "") ?? "";
}
