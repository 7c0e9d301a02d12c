// The script of the pages where a passkey is used or created: asks the browser for it, and submits the form with the
// result.

import "./site.js";
import { find } from "./page/dom.js";
import { postForm } from "./page/server.js";

/** How long a challenge is offered in the field for the name. The server accepts it for longer. */
const OFFERED_MS = 480_000;

/** Stops the browser's passkey suggestions, because it runs only one request at a time. */
let offer = new AbortController();

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (form instanceof HTMLFormElement) prepare(form);
}

/** @param {HTMLFormElement} form */
function prepare(form) {
  const button = find(form, "button", HTMLButtonElement);
  if (!("PublicKeyCredential" in window)) {
    button.disabled = true;
    say(form, "unsupported");
    return;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form, button);
  });
  if ("autofill" in form.dataset) void offerBesideTheName(form);
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 */
async function send(form, button) {
  offer.abort();
  button.disabled = true;
  say(form, "");
  try {
    const options = await optionsOf(form);
    finish(form, form.dataset.passkey === "make" ? await made(options) : await used({ publicKey: requested(options) }));
  } catch (error) {
    say(form, problemOf(error));
    button.disabled = false;
    button.focus();
  }
}

/**
 * If the browser supports it, passkeys are among its autofill suggestions.
 * @param {HTMLFormElement} form
 */
async function offerBesideTheName(form) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  offer = new AbortController();
  const { signal } = offer;
  const renewal = setTimeout(() => {
    offer.abort();
    if (!document.hidden) void offerBesideTheName(form);
  }, OFFERED_MS);
  try {
    const publicKey = requested(await optionsOf(form));
    if (signal.aborted) return;
    finish(form, await used({ publicKey, mediation: "conditional", signal }));
  } catch {
    // Nobody pressed anything: the button remains, and reports problems.
  } finally {
    clearTimeout(renewal);
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {object} credential
 */
function finish(form, credential) {
  find(form, "[name=credential]", HTMLInputElement).value = JSON.stringify(credential);
  form.submit();
}

/**
 * @param {HTMLFormElement} form
 * @returns {Promise<any>} as the server sends it (WebAuthn level 3, section 5.1.8)
 */
async function optionsOf(form) {
  return JSON.parse(await postForm(form.dataset.options ?? "", new URLSearchParams()));
}

/**
 * @param {any} options
 * @returns {PublicKeyCredentialRequestOptions}
 */
function requested(options) {
  const allowCredentials = (options.allowCredentials ?? []).map(withBytes);
  return { ...options, challenge: bytes(options.challenge), allowCredentials };
}

/** @param {CredentialRequestOptions} asked */
async function used(asked) {
  const { credential, response } = parts(await navigator.credentials.get(asked), AuthenticatorAssertionResponse);
  return {
    ...credential,
    response: {
      clientDataJSON: text(response.clientDataJSON),
      authenticatorData: text(response.authenticatorData),
      signature: text(response.signature),
      userHandle: response.userHandle ? text(response.userHandle) : null,
    },
  };
}

/** @param {any} options */
async function made(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: withBytes(options.user),
    excludeCredentials: (options.excludeCredentials ?? []).map(withBytes),
  };
  const got = await navigator.credentials.create({ publicKey });
  const { credential, response } = parts(got, AuthenticatorAttestationResponse);
  const attestationObject = text(response.attestationObject);
  return { ...credential, response: { clientDataJSON: text(response.clientDataJSON), attestationObject } };
}

/**
 * @template {AuthenticatorResponse} R
 * @param {Credential | null} got
 * @param {new () => R} kind
 */
function parts(got, kind) {
  if (!(got instanceof PublicKeyCredential) || !(got.response instanceof kind)) throw new TypeError("no passkey");
  const id = text(got.rawId);
  return { credential: { id, rawId: id, type: got.type }, response: got.response };
}

/** @param {{ id: string }} named */
function withBytes(named) {
  return { ...named, id: bytes(named.id) };
}

/** @param {string} encoded in base64url */
function bytes(encoded) {
  return Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function text(buffer) {
  const signs = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(signs).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {unknown} error */
function problemOf(error) {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "InvalidStateError") return "taken";
  if (name === "SecurityError") return "elsewhere";
  if (name === "NotSupportedError") return "unsupported";
  return name ? "cancelled" : "unreachable";
}

/**
 * @param {HTMLFormElement} form
 * @param {string} problem the name of one of the problem messages in the page; empty for none
 */
function say(form, problem) {
  const sentence = problem && find(form, `template[data-problem=${problem}]`, HTMLTemplateElement).content.textContent;
  find(form, "[data-passkey-problem]", HTMLElement).textContent = (sentence || "").trim();
}
