// HTTP requests to the server, with error messages for people.

import { t } from "../language/words.js";

/** The server refused or could not be reached; `message` can be shown. */
class RequestFailed extends Error {}

/** The session is over: the server answered with its sign-in page. */
export class SignedOut extends RequestFailed {}

/** It does not exist, or no longer. */
export class Missing extends RequestFailed {}

const UNREACHABLE = t("The server could not be reached. Please try again.");
const REFUSED = t("The server could not do that. Please try again.");

/**
 * What people are told about a failure: never the text of a mistake in this program.
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof RequestFailed ? error.message : t("That did not work. Please reload the page.");
}

/**
 * Fetches the text at a path.
 * @param {string} path
 * @returns {Promise<string>}
 */
export async function read(path) {
  const response = await ask(path, { headers: { "X-Requested-With": "fetch" } });
  return response.text();
}

/**
 * Posts a form, and returns the page in the response.
 * @param {string} path
 * @param {URLSearchParams} fields
 * @returns {Promise<string>}
 */
export async function postForm(path, fields) {
  const response = await ask(path, { method: "POST", body: fields, headers: { "X-CSRFToken": csrfToken() } });
  return response.text();
}

/**
 * Posts a form with a file, and returns the page in the response: also one that says why the file was refused.
 * @param {string} path
 * @param {FormData} fields
 * @returns {Promise<string>}
 */
export async function postFile(path, fields) {
  const response = await ask(path, { method: "POST", body: fields, headers: { "X-CSRFToken": csrfToken() } }, 400);
  return response.text();
}

/**
 * Posts a form to a view that answers in JSON.
 * @param {string} path
 * @param {Record<string, string> | URLSearchParams} [fields]
 * @returns {Promise<{ ok?: boolean, message?: string, title?: string, name?: string, undo?: string, folder?: string }>}
 */
export async function postJson(path, fields = {}) {
  const response = await ask(path, {
    method: "POST",
    keepalive: true, // even if the person is just leaving the page
    body: new URLSearchParams(fields),
    headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
  });
  const answer = /** @type {unknown} */ (await response.json());
  return typeof answer === "object" && answer !== null ? answer : {};
}

/**
 * @param {string} path
 * @param {RequestInit} options
 * @param {number} [refusal] the status of a refusal whose page is of use
 * @returns {Promise<Response>}
 */
async function ask(path, options, refusal) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new RequestFailed(UNREACHABLE);
  }
  if (response.status === 401 || isSignIn(response)) throw new SignedOut(t("You have been signed out."));
  if (response.status === 404 && refusal !== 404) throw new Missing(REFUSED);
  if (!response.ok && response.status !== refusal) throw new RequestFailed(REFUSED);
  return response;
}

/** @param {Response} response */
function isSignIn(response) {
  return response.redirected && new URL(response.url).pathname.startsWith("/sign-in/");
}

function csrfToken() {
  return document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";
}
