// Names of keys that are pressed together, such as "Ctrl+Shift+O" or "?", and which of them a shortcut may have.

import { tc } from "../language/words.js";

/**
 * @typedef {object} PressedKey the part of a keyboard event that is read here
 * @property {string} key
 * @property {string} [code]
 * @property {boolean} ctrlKey
 * @property {boolean} metaKey
 * @property {boolean} altKey
 * @property {boolean} shiftKey
 */

/** With Ctrl, what browsers and text boxes use. Ctrl stands for ⌘, too. */
const TAKEN_WITH_CTRL = "ABCDEFGHJLMNOPQRSTUVWXYZ0123456789+-=";
const TAKEN_WITH_CTRL_SHIFT = "ABCDEGHIJKMNPQRSTUVWYZ+-=";
/** Without Ctrl: Firefox's quick find. */
const TAKEN_ALONE = "/'";

/**
 * @param {PressedKey} event
 * @returns {string} empty for a key that only changes others, and for one without a name
 */
export function keysOf(event) {
  const key = characterOf(event);
  if (["Control", "Shift", "Alt", "Meta", "AltGraph", "Dead", "Process", "Unidentified", ""].includes(key)) return "";
  const isCharacter = key.length === 1;
  const name = key === " " ? "Space" : isCharacter ? key.toUpperCase() : key;
  // For a character that is not a letter, Shift is just part of typing it.
  const isShifted = event.shiftKey && (!isCharacter || event.ctrlKey || event.metaKey || /^[A-Z]$/.test(name));
  const modifiers = [event.ctrlKey || event.metaKey ? "Ctrl" : "", event.altKey ? "Alt" : "", isShifted ? "Shift" : ""];
  return [...modifiers.filter(Boolean), name].join("+");
}

/** If the layout has no Latin letters, a letter means the key at its position. @param {PressedKey} event */
function characterOf({ key, code }) {
  if (key.length !== 1 || /^[\x20-\x7e]$/.test(key)) return key;
  return /^Key([A-Z])$/.exec(code ?? "")?.[1] ?? key;
}

/**
 * Whether people who use speech input, or type without seeing the focus, could press them by mistake (WCAG 2.1.4).
 * @param {string} keys
 */
export function isSingle(keys) {
  return !keys.startsWith("Ctrl+");
}

/**
 * Whether a shortcut may use them: the keys of browsers, text boxes and screen readers are reserved.
 * @param {string} keys
 */
export function isFree(keys) {
  const [, ctrl, shift, name = ""] = /^(Ctrl\+)?(Shift\+)?([\x21-\x7e])$/.exec(keys) ?? [];
  if (!name) return false;
  const taken = ctrl ? (shift ? TAKEN_WITH_CTRL_SHIFT : TAKEN_WITH_CTRL) : TAKEN_ALONE;
  return !taken.includes(name);
}

/**
 * The keys as labelled on keyboards of the page's language: "Strg+Umschalt+O".
 * @param {string} keys
 */
export function keysShown(keys) {
  /** @type {Record<string, string>} */
  const names = { Ctrl: tc("key", "Ctrl"), Shift: tc("key", "Shift"), Space: tc("key", "Space") };
  return keys.replace(/[A-Z][a-z]+/g, (name) => names[name] ?? name);
}
