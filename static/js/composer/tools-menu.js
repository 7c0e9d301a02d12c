// The menu of tools at the message box. The server stores the switches of a conversation; before there is one, this
// browser does, and the first message sends them.

import { fill, find, seek } from "../page/dom.js";
import { messageOf, postForm, read } from "../page/server.js";
import { toast } from "../page/menus.js";

const CONVERSATION = /\/c\/[0-9a-f-]{36}\/$/;

/** @typedef {{ toolsOff: () => string, keepToolsOff: (names: string[]) => void }} ToolStorage in this browser */

/** @type {HTMLElement | null} */
let listening = null;
/** Passed in, not imported: an import would add a file to the first load of every page. @type {ToolStorage} */
let storage = { toolsOff: () => "", keepToolsOff: () => undefined };

/**
 * @param {HTMLElement} menu that opens
 * @param {ToolStorage} ofPage
 */
export async function open(menu, ofPage) {
  storage = ofPage;
  if (listening !== menu) {
    listening = menu;
    menu.addEventListener("change", changed);
    menu.addEventListener("click", askedAgain);
  }
  await show(menu, () => read(own() ?? listed(menu)));
}

/** The address of the conversation's tools; null before there is one. */
function own() {
  return CONVERSATION.test(location.pathname) ? `${location.pathname}tools/?${chosen()}` : null;
}

/** @param {HTMLElement} menu */
function listed(menu) {
  return `${menu.dataset.new}?off=${encodeURIComponent(storage.toolsOff())}&${chosen()}`;
}

/** The chosen model: its server may have tools of its own. */
function chosen() {
  const box = find(document, "chat-composer", HTMLElement);
  const choice = seek(box, ".model-choice", HTMLSelectElement)?.value ?? box.dataset.choice ?? "";
  return `choice=${encodeURIComponent(choice)}`;
}

/**
 * @param {HTMLElement} menu
 * @param {() => Promise<string>} fetched
 */
async function show(menu, fetched) {
  try {
    const html = await fetched();
    const at = document.activeElement instanceof HTMLInputElement ? document.activeElement.value : null;
    const isInside = menu.contains(document.activeElement);
    fill(menu, html);
    if (isInside) seek(menu, at ? `input[value="${CSS.escape(at)}"]` : "input", HTMLInputElement)?.focus();
  } catch (error) {
    toast(messageOf(error));
  }
}

/** @param {Event} event */
function changed({ target, currentTarget }) {
  if (!(target instanceof HTMLInputElement) || !(currentTarget instanceof HTMLElement)) return;
  const [menu, address] = [currentTarget, own()];
  const state = target.checked ? "on" : "off";
  if (address) {
    void show(menu, () => postForm(address, new URLSearchParams({ tool: target.value, state })));
    return;
  }
  keepOff(menu);
  const on = target.checked ? `&on=${target.value}` : "";
  // What the tool that goes on excludes is off then.
  void show(menu, () => read(listed(menu) + on)).then(() => keepOff(menu));
}

/** @param {HTMLElement} menu */
function keepOff(menu) {
  const off = [...menu.querySelectorAll("input")].filter((input) => !input.checked);
  storage.keepToolsOff(off.map((input) => input.value));
}

/** @param {Event} event */
function askedAgain({ target, currentTarget }) {
  const button = target instanceof Element ? target.closest("button[name=ask]") : null;
  const address = own();
  if (!(button instanceof HTMLButtonElement) || !(currentTarget instanceof HTMLElement) || !address) return;
  const menu = currentTarget;
  void show(menu, () => postForm(address, new URLSearchParams({ tool: button.value, state: "ask" })));
}
