// Loads what the page says about limits of usage when somebody comes near to one.

import { refusal } from "../language/refusals.js";

/** @import { Accepted, Refused } from "../wire/wire.js" */

const limits = () => import("./limits.js");

/** @param {Refused} event @returns {Promise<string>} what is used up, until when, and whom to ask */
export function limitReached(event) {
  return limits().then(({ reached }) => reached(event), () => refusal(event.code));
}

/** @param {Accepted} event @param {HTMLElement} composer below which it is said how much is used */
export function tellNearLimit(event, composer) {
  void limits().then(({ tellNear }) => tellNear(event, composer), () => {});
}
