// Shows messages about usage limits that are nearly or fully used.

import { refusal } from "../language/refusals.js";
import { moment, number, t } from "../language/words.js";

/** @import { Accepted, Refused } from "../wire/wire.js" */

/** @param {Refused} event */
export function reached(event) {
  const until = t("You can ask again after %(until)s.", { until: at(event.until) });
  return [refusal(event.code), until, event.contact].filter(Boolean).join(" ");
}

/** @param {Accepted} event @param {HTMLElement} composer */
export function tellNear(event, composer) {
  const share = number((event.percent ?? 0) / 100, { style: "percent" });
  const note = composer.querySelector(".usage-note") ?? newNote(composer);
  const until = at(event.until);
  note.textContent = t("You have used %(share)s of your limit until %(until)s.", { share, until });
}

/** @param {string | null | undefined} until a time in ISO 8601 */
function at(until) {
  return moment(until ?? 0);
}

/** @param {HTMLElement} composer */
function newNote(composer) {
  const note = document.createElement("p");
  note.classList.add("composer-note", "usage-note");
  note.setAttribute("role", "status");
  composer.querySelector(".composer-count")?.before(note);
  return note;
}
