// What people have typed and not sent. A changed form asks before its page is left; the language of the page, and a
// session that has ended, leave its fields as they were. Signing out names everything that will be deleted.

import { t } from "../language/words.js";
import { closestTo } from "./dom.js";
import { openStorage, pageTexts } from "./storage.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Field */
/** @typedef {{ where: string, text: string }} Unsent a piece of text, and the place where it was typed */
/** @typedef {{ person: string, path: string, isDue: boolean, fields: [string, string[]][] }} Kept */

const KEY = "chatui:form";
const ANSWERS_MS = 250;
const SHOWN_CHARS = 120;
const { person = "" } = document.documentElement.dataset;
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("unsent") : null;
/** Fields that are being sent, or are kept for the next page. @type {Set<Field>} */
const sent = new Set();
let isWatching = false;

/** Asks before a changed form is left, and fills in what was typed before. */
export function watch() {
  if (isWatching) return;
  isWatching = true;
  addEventListener("submit", submitted);
  addEventListener("input", ({ target }) => sent.delete(/** @type {Field} */ (target)));
  addEventListener("beforeunload", (event) => {
    if (changed().some((field) => !sent.has(field))) event.preventDefault();
  });
  tabs?.addEventListener("message", ({ data }) => {
    if (data === `${person}?`) tabs.postMessage({ person, unsent: inPage() });
  });
  restore();
}

// The forms of the page. The message box and the editor of a question have drafts; searching writes nothing.

/** @returns {Field[]} */
function fields() {
  const forms = [...document.querySelectorAll("form:is([method=post], .reference-try):not(.language, .choose)")];
  const all = forms.flatMap((form) => (form instanceof HTMLFormElement ? [...form.elements] : []));
  const left = ":is([type=hidden], [type=search], [type=submit], [type=button], [readonly], :autofill)";
  return all.filter((each) => isField(each) && !each.matches(left)).map((each) => /** @type {Field} */ (each));
}

/** @param {Element} element */
function isField(element) {
  return ["INPUT", "TEXTAREA", "SELECT"].includes(element.tagName);
}

function changed() {
  return fields().filter(isChanged);
}

/** @param {Field} field */
function isChanged(field) {
  if (field instanceof HTMLSelectElement) {
    const all = [...field.options];
    if (field.multiple) return all.some((option) => option.selected !== option.defaultSelected);
    return field.selectedOptions[0] !== (all.findLast((option) => option.defaultSelected) ?? all[0]);
  }
  if (isTicked(field)) return field.checked !== field.defaultChecked;
  // The server refused the form, and has sent it back with what was typed.
  const isBack = field.value && !isSecret(field) && field.form?.querySelector(".form-problem");
  return field.value !== field.defaultValue || Boolean(isBack);
}

/** @param {Field} field @returns {field is HTMLInputElement} */
function isTicked(field) {
  return field.type === "checkbox" || field.type === "radio";
}

/** Whether a field's content is never kept: browsers fill in passwords, and a script cannot fill in files. */
function isSecret(/** @type {Field} */ { type }) {
  return type === "password" || type === "file";
}

/** @param {SubmitEvent} event */
function submitted(event) {
  const form = event.target;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== "post") return;
  sent.clear();
  const all = changed();
  const isLanguage = form.matches(".language");
  const isLeft = form.matches("[data-sign-out]");
  const going = all.filter((field) => (isLanguage ? !isSecret(field) : isLeft || field.form === form));
  const mayBeLost = isLanguage || (person && !isLeft);
  if (mayBeLost && !keep(going, isLanguage) && isLanguage) return;
  for (const field of going) sent.add(field);
}

// Keeps what was typed in a form for one page, in this tab.

/** @param {Field[]} going @param {boolean} isDue whether the next page is this one again @returns {boolean} */
function keep(going, isDue) {
  const named = going.filter((field) => !isSecret(field)).map((field) => [nameOf(field), valuesOf(field)]);
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ person, path: location.pathname, isDue, fields: named }));
    return true;
  } catch {
    return false;
  }
}

/** @param {Field} field */
function nameOf(field) {
  return `${field.form?.getAttribute("action") ?? ""} ${field.name} ${isTicked(field) ? field.value : ""}`;
}

/** @param {Field} field */
function valuesOf(field) {
  if (field instanceof HTMLSelectElement) return [...field.selectedOptions].map(({ value }) => value);
  return isTicked(field) ? (field.checked ? ["on"] : []) : [field.value];
}

function restore() {
  const kept = read();
  if (!kept) return;
  // The form has led to the sign-in page or to a refusal: the person may come back to it.
  if ((kept.person && !person) || document.querySelector(".error-status")) return store({ ...kept, isDue: true });
  const isHere = kept.path === location.pathname;
  const isOwn = kept.person === person;
  if (!isOwn || !kept.isDue || isHere) store(null);
  if (!isOwn || !kept.isDue || !isHere) return;
  const all = fields();
  for (const [name, values] of kept.fields) {
    const at = all.findIndex((field) => nameOf(field) === name);
    const [field] = at < 0 ? [] : all.splice(at, 1);
    if (field) fill(field, values);
  }
}

/** @param {Field} field @param {string[]} values */
function fill(field, values) {
  if (field instanceof HTMLSelectElement) {
    for (const option of field.options) option.selected = values.includes(option.value);
  } else if (isTicked(field)) field.checked = values.length > 0;
  else if (!isSecret(field)) field.value = values[0] ?? "";
  for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
}

/** @returns {Kept | null} */
function read() {
  try {
    return /** @type {Kept | null} */ (JSON.parse(sessionStorage.getItem(KEY) ?? "null"));
  } catch {
    return null;
  }
}

/** @param {Kept | null} kept */
function store(kept) {
  try {
    if (kept) sessionStorage.setItem(KEY, JSON.stringify(kept));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Where storage is forbidden, nothing is in it.
  }
}

// What is unsent: in this browser, on this page, and on the person's other pages.

/** @returns {Unsent[]} */
function inBrowser() {
  const storage = openStorage();
  const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
  return keys.flatMap((key) => {
    const [, kind, whose, ...rest] = key.split(":");
    if (!person || whose !== person || !["draft", "next"].includes(kind ?? "")) return [];
    return [{ where: placeOf(rest), text: textOf(storage?.getItem(key)) }];
  });
}

/** @param {string[]} key what follows the person in the key of a draft */
function placeOf([first = "", question]) {
  if (question) return t("An edited question");
  const item = `.conversation-item[data-conversation="${CSS.escape(first)}"] .conversation-title`;
  const place = document.querySelector(first === "new" ? ".new-chat" : item)?.textContent?.trim();
  return place || (location.pathname.includes(first) ? heading() : "");
}

/** @returns {Unsent[]} */
function inPage() {
  const composer = /** @type {import("../composer/composer.js").ChatComposer | null} */ (
    document.querySelector("chat-composer")
  );
  composer?.flush();
  const texts = Array.from({ length: pageTexts.length }, (_, index) => {
    const key = pageTexts.key(index) ?? "";
    return { where: heading(), text: textOf(pageTexts.getItem(key)) };
  });
  const typed = changed().filter((field) => !sent.has(field) && field.type !== "password");
  const forms = [...new Set(typed.map(({ form }) => form))].map((form) => {
    const written = typed.filter((field) => field.form === form && !isTicked(field)).map(({ value }) => value);
    return { where: heading(), text: written.join(" · ") };
  });
  return [...texts, ...forms];
}

function heading() {
  return document.querySelector("h1")?.textContent?.trim() ?? document.title;
}

/** @param {string | null | undefined} stored */
function textOf(stored) {
  try {
    return String(JSON.parse(stored ?? "").text ?? "");
  } catch {
    return "";
  }
}

/** @returns {Promise<Unsent[]>} */
async function elsewhere() {
  /** @type {Unsent[]} */
  const all = [];
  const answer = (/** @type {MessageEvent} */ { data }) => {
    if (data?.person === person && Array.isArray(data.unsent)) all.push(...data.unsent);
  };
  tabs?.addEventListener("message", answer);
  tabs?.postMessage(`${person}?`);
  if (tabs) await new Promise((resolve) => setTimeout(resolve, ANSWERS_MS));
  tabs?.removeEventListener("message", answer);
  return all;
}

/**
 * The person wants to sign out.
 * @param {HTMLElement} form
 * @param {() => void} go signs out
 */
export async function askToLeave(form, go) {
  watch();
  const here = inPage();
  const items = [...inBrowser(), ...here, ...(await elsewhere())];
  const question = { title: t("Sign out and delete this unsent text?"), lead: "", stay: t("Stay"), items };
  if (!items.length || (await confirmLoss({ ...question, go: form.textContent?.trim() ?? "" }))) go();
}

/**
 * Asks before something is lost.
 * @param {{ title: string, lead: string, items: Unsent[], stay: string, go: string }} question
 * @returns {Promise<boolean>}
 */
export async function confirmLoss({ title, lead, items, ...labels }) {
  const dialog = document.createElement("dialog");
  dialog.className = "move-dialog";
  const head = made("h2", "", title);
  const [stay, go] = [made("button", "button", labels.stay), made("button", "button", labels.go)];
  go.classList.add("button-danger");
  dialog.setAttribute("aria-labelledby", (head.id = "loss-title"));
  stay.dataset.stay = go.dataset.go = "";
  const list = made("ul", "loss-items", "");
  for (const { where, text } of items) {
    const item = made("li", "", "");
    item.append(made("bdi", "loss-place", where), made("bdi", "loss-text", text.trim().slice(0, SHOWN_CHARS)));
    list.append(item);
  }
  const [top, foot] = [made("div", "move-head", ""), made("p", "loss-choices", "")];
  top.append(head);
  foot.append(stay, go);
  dialog.append(top, items.length ? list : made("p", "card-lead", lead), foot);
  document.body.append(dialog);
  dialog.showModal();
  stay.focus();
  return new Promise((resolve) => {
    // The page's own Escape would stop a running answer.
    dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || closestTo(event, "[data-stay], [data-go]")) {
        dialog.close(closestTo(event, "[data-go]") ? "go" : "");
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "go");
    });
  });
}

/** The person has signed out in another tab, and this page is empty. */
export function showSignedOut() {
  const main = made("main", "emptied", "");
  const link = made("a", "button", t("Sign in again"));
  link.classList.add("button-main");
  link.setAttribute("href", "/sign-in/");
  const why = t("This page was emptied, because you signed out in another tab.");
  main.append(made("h1", "", t("You have been signed out.")), made("p", "", why), link);
  document.body.replaceChildren(main);
  document.title = t("You have been signed out.");
}

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} text
 */
function made(tag, className, text) {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}
