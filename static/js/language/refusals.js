// The sentences for the codes with which the server refuses a command or closes the socket.
// Made from chatui/codes.py by `make messages`. Do not change it by hand: `make check` compares the two.

import { t } from "./words.js";

/** @type {Readonly<Record<string, string>>} */
const SENTENCES = Object.freeze({
  "E-PERM-VISIBILITY": t("You are not allowed to see this. The attempt has been recorded."),
  "E-X-BUSY": t("An answer is still being written in this conversation."),
  "E-X-COMMAND": t("The server did not understand the page's request. Reload the page."),
  "E-X-EMPTY": t("There is nothing to send yet."),
  "E-X-INTERNAL": t("Something went wrong on our side."),
  "E-X-NO-SUCH-MODEL": t("This model is not available to you. Choose another one."),
  "E-X-NOT-FOUND": t("This does not exist, or you do not have access to it."),
  "E-X-OPT-IN": t("Open the debug view of this conversation first."),
  "E-X-OTHER-RELEASE": t("The server was updated. Reload this page; your text is kept."),
  "E-X-QUOTA-DAY": t("You have reached your limit for today."),
  "E-X-QUOTA-MONTH": t("You have reached your limit for this month."),
  "E-X-RATE": t("Too many requests. Wait, then try again."),
  "E-X-SERVER-BUSY": t("The server is too busy to do this now. Try again in a moment."),
  "E-X-SIGNED-OUT": t("You are signed out. Sign in again to continue."),
  "E-X-STORAGE-FULL": t("The server's storage is full, so this was not saved. Its operator must make room."),
  "E-X-TOO-LARGE": t("The message is too long."),
  "E-X-TOO-MANY": t("Several of your answers are still being written. Wait for one, or stop it."),
  "E-X-TOO-MANY-PAGES": t("Too many pages are open. Close some, then reload this one."),
});

/** @param {string} code */
export function refusal(code) {
  const known = Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined;
  return known ?? t("The server refused this (%(code)s). Reload the page.", { code });
}
