// The script of the API reference: sends the reader's request to this server with their key, and shows the reply.

import { t } from "./language/words.js";
import "./site.js";
import { find } from "./page/dom.js";

const MAX_SHOWN_CHARS = 100_000;

document.addEventListener("submit", sent);

/** @param {SubmitEvent} event */
async function sent(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.dataset.method) return;
  event.preventDefault();
  const status = find(form, ".reference-status", HTMLElement);
  const reply = find(form, ".reference-reply", HTMLElement);
  const address = addressOf(find(form, "input[name=path]", HTMLInputElement).value);
  reply.hidden = true;
  if (!address) {
    status.textContent = t("Only addresses below /v1/ can be tried here.");
    return;
  }
  status.textContent = t("Sending…");
  try {
    const response = await ask(address, form.dataset.method, form.querySelector("textarea")?.value);
    status.textContent = `${response.status} ${response.statusText}`;
    await show(response, reply);
  } catch {
    status.textContent = t("The server could not be reached.");
  }
}

/**
 * @param {string} path
 * @returns {URL | null} null for an address to which the key must not go
 */
function addressOf(path) {
  const address = URL.canParse(path, location.origin) ? new URL(path, location.origin) : null;
  return address?.origin === location.origin && address.pathname.startsWith("/v1/") ? address : null;
}

/**
 * @param {URL} address
 * @param {string} method
 * @param {string | undefined} body
 */
function ask(address, method, body) {
  const key = find(document, "#reference-key", HTMLInputElement).value.trim();
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const sends = method === "POST";
  return fetch(address, { method, headers, body: sends ? (body ?? "{}") : undefined, credentials: "omit" });
}

/**
 * @param {Response} response
 * @param {HTMLElement} place
 */
async function show(response, place) {
  place.textContent = "";
  place.hidden = false;
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    text = (text + piece.value).slice(0, MAX_SHOWN_CHARS);
    place.textContent = text;
  }
  place.textContent = indented(text);
}

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
