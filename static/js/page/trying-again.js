// Sends the form of the sign-in page. If the server says that the person has to wait, it is sent again by itself when
// the wait is over. Without this script, the browser sends it, and people send it again.

import { tn } from "../language/words.js";
import { find, parse, seek } from "./dom.js";

/** How often a form is sent again by itself: a page that somebody has left should not go on for ever. */
const MAX_TRIES = 20;
const MUST_WAIT = 429;
const SECOND_MS = 1000;

for (const form of document.querySelectorAll("form[data-tries-again]")) {
  if (form instanceof HTMLFormElement) prepare(form);
}

/** @param {HTMLFormElement} form */
function prepare(form) {
  const button = find(form, "button[type=submit]", HTMLButtonElement);
  let tries = 0;
  let timer = 0;
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    if (event.isTrusted) tries = 0;
    void send();
  });

  async function send() {
    clearTimeout(timer);
    button.disabled = true;
    const response = await answerTo(form);
    button.disabled = false;
    const isJson = response?.headers.get("Content-Type")?.startsWith("application/json");
    if (response?.ok && isJson) go(form, /** @type {unknown} */ (await response.json()));
    else if (isJson || !response || !isShown(form, await response.text())) form.submit();
    else if (response.status === MUST_WAIT) wait(Number(response.headers.get("Retry-After")) || 1);
    else clear(form);
  }

  /** @param {number} seconds */
  function wait(seconds) {
    if (++tries > MAX_TRIES) return;
    const line = document.createElement("p");
    line.ariaLive = "off"; // or it would be read aloud every second
    find(form, ".form-problem", HTMLElement).append(line);
    const due = Date.now() + seconds * SECOND_MS;
    count();

    function count() {
      const left = Math.ceil((due - Date.now()) / SECOND_MS);
      line.textContent = tn(
        "This page tries again by itself in %(n)s second.",
        "This page tries again by itself in %(n)s seconds.",
        Math.max(left, 0),
      );
      if (left > 0) timer = setTimeout(count, SECOND_MS);
      else if (form.checkValidity()) void send();
    }
  }
}

/**
 * What the server says to the form; null if it cannot be reached.
 * @param {HTMLFormElement} form
 */
async function answerTo(form) {
  const fields = /** @type {[string, string][]} */ ([...new FormData(form)]);
  const headers = { Accept: "application/json" };
  try {
    return await fetch(form.action, { method: "POST", body: new URLSearchParams(fields), headers });
  } catch {
    return null;
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {unknown} answer
 */
function go(form, answer) {
  form.reset(); // nothing in it is lost, so the browser need not ask
  const { url } = /** @type {{ url?: string }} */ (answer);
  location.assign(url ?? "/");
}

/**
 * Shows the problem that a page names, in the form. Returns whether it names one.
 * @param {HTMLFormElement} form
 * @param {string} page
 */
function isShown(form, page) {
  const problem = seek(parse(page), ".form-problem", HTMLElement);
  if (!problem) return false;
  seek(form, ".form-problem", HTMLElement)?.remove();
  form.prepend(problem);
  return true;
}

/** @param {HTMLFormElement} form */
function clear(form) {
  const password = find(form, "[type=password]", HTMLInputElement);
  password.value = "";
  password.focus();
}
