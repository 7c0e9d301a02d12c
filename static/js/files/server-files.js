// The dialog for picking a resource of a tool server. What a server says is shown as plain text.

import { t } from "../language/words.js";
import { find } from "../page/dom.js";
import { made } from "../page/made.js";
import { messageOf, postJson, read } from "../page/server.js";
import { address } from "./chip.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { UploadedFile } from "./chip.js" */
/** @typedef {{ name: string, description: string, address: string, pick: string, fields?: string[] }} Entry */
/** @typedef {{ message?: string, connect?: string }} Told */
/** @typedef {Told & { resources?: Entry[], templates?: Entry[], more?: string, note?: string }} Page */
/** @typedef {Told & { files?: UploadedFile[] }} Attached */

const FETCHING = t("The server is asked…");
const TITLE = t("Attach from a tool server");

/** The names of the servers that the person may choose from. @param {ChatComposer} composer */
function serversOf(composer) {
  return (find(composer, "[data-servers]", HTMLElement).dataset.servers ?? "").split(" ");
}

/**
 * @param {ChatComposer} composer
 * @param {(taken: UploadedFile) => void} take
 */
export function showServers(composer, take) {
  new ServerDialog(composer, take).open();
}

class ServerDialog {
  #composer;
  #take;
  #dialog = made("dialog", "move-dialog");
  #servers = made("select", "earlier-search");
  #state = made("p", "card-lead");
  #list = made("ul", "move-places");
  #more = made("button", "button", t("Show more"));
  /** The token of the next page. */
  #next = "";
  /** What is awaited last: an answer to anything before is dropped. */
  #asked = 0;

  /** @param {ChatComposer} composer @param {(taken: UploadedFile) => void} take */
  constructor(composer, take) {
    this.#composer = composer;
    this.#take = take;
  }

  open() {
    const title = made("h2", "", TITLE);
    const head = made("div", "move-head");
    const close = made("button", "quiet", "×");
    title.id = "servers-title";
    this.#dialog.classList.add("server-dialog");
    this.#dialog.setAttribute("aria-labelledby", title.id);
    close.type = this.#more.type = "button";
    close.setAttribute("aria-label", t("Close"));
    for (const name of serversOf(this.#composer)) this.#servers.add(new Option(name, name));
    this.#servers.setAttribute("aria-label", t("Tool server"));
    this.#state.setAttribute("role", "status");
    this.#more.hidden = true;
    head.append(title, close, this.#state); // it stays in sight, however far the list is scrolled
    this.#dialog.append(head, this.#servers, this.#list, this.#more);
    close.addEventListener("click", () => this.#dialog.close());
    // A click beside the dialog hits the dialog itself.
    this.#dialog.addEventListener("click", ({ target }) => target === this.#dialog && this.#dialog.close());
    this.#dialog.addEventListener("close", () => {
      this.#asked += 1;
      this.#dialog.remove();
    });
    this.#servers.addEventListener("change", () => void this.#show());
    this.#more.addEventListener("click", () => void this.#show(this.#next));
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#servers.focus();
    void this.#show();
  }

  get #path() {
    return `/files/servers/${encodeURIComponent(this.#servers.value)}/`;
  }

  /** Shows the beginning of the list, or adds a page to it. @param {string} [page] */
  async #show(page = "") {
    const mine = this.#begin();
    if (!page) this.#list.replaceChildren();
    this.#more.hidden = true;
    /** @type {Page} */
    let found;
    try {
      found = /** @type {Page} */ (JSON.parse(await read(`${this.#path}?${new URLSearchParams({ page })}`)));
    } catch (error) {
      found = { message: messageOf(error) };
    }
    if (mine !== this.#asked) return;
    this.#end(found);
    this.#more.hidden = !found.more && !(page && found.message);
    this.#next = found.more || page;
    const rows = [
      ...(found.templates ?? []).map((each) => this.#form(each)),
      ...(found.resources ?? []).map((each) => this.#item(each)),
    ];
    this.#list.append(...rows);
    const isEmpty = !this.#list.children.length && !found.more;
    if (!found.message) this.#say(found.note || (isEmpty ? t("This server lists nothing to attach.") : ""));
    if (page) find(rows[0] ?? this.#dialog, "button", HTMLButtonElement).focus();
  }

  #begin() {
    this.#asked += 1;
    this.#list.inert = this.#more.inert = true;
    this.#say(FETCHING);
    return this.#asked;
  }

  /** @param {Told} told */
  #end({ message, connect }) {
    this.#list.inert = this.#more.inert = false;
    this.#say(message ?? "");
    if (connect) this.#state.append(" ", Object.assign(made("a", "", t("Connected accounts")), { href: connect }));
  }

  /** @param {string} sentence */
  #say(sentence) {
    this.#state.textContent = sentence;
  }

  /** @param {Entry} entry @param {URLSearchParams} fields */
  async #attach(entry, fields) {
    const mine = this.#begin();
    const focused = document.activeElement;
    fields.set("pick", entry.pick);
    /** @type {Attached} */
    let got;
    try {
      got = /** @type {Attached} */ (await postJson(address(this.#composer.choice, this.#path), fields));
    } catch (error) {
      got = { message: messageOf(error) };
    }
    // What was attached is shown even if the dialog was closed meanwhile: it waits at the message box.
    const files = got.files ?? [];
    if (mine === this.#asked) {
      this.#end(got);
      if (files.length) this.#dialog.close(); // first: it gives the focus back
      else if (focused instanceof HTMLElement) focused.focus();
    }
    for (const file of files) this.#take(file);
    if (files.length && got.message) this.#composer.say(got.message);
  }

  /** @param {Entry} entry */
  #item(entry) {
    const button = made("button", "move-place");
    button.classList.add("earlier-file");
    button.type = "button";
    button.append(...words(entry));
    button.addEventListener("click", () => void this.#attach(entry, new URLSearchParams()));
    const row = document.createElement("li");
    row.append(button);
    return row;
  }

  /** A template, whose address the person completes. @param {Entry} entry */
  #form(entry) {
    const form = made("form", "server-template");
    const about = made("details", "server-details");
    const summary = made("summary", "");
    const [name, ...more] = words(entry);
    if (name) summary.append(name);
    form.append(...more);
    for (const field of entry.fields ?? []) {
      const label = made("label", "field");
      const input = made("input", "earlier-search");
      Object.assign(input, { name: `field-${field}`, required: true, maxLength: 500, autocomplete: "off" });
      label.append(made("bdi", "", field), input);
      form.append(label);
    }
    const button = made("button", "button", t("Attach"));
    button.type = "submit";
    form.append(button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const fields = new URLSearchParams();
      for (const input of form.querySelectorAll("input")) fields.set(input.name, input.value);
      void this.#attach(entry, fields);
    });
    about.append(summary, form);
    const row = document.createElement("li");
    row.append(about);
    return row;
  }
}

/** @param {Entry} entry */
function words({ name, description, address }) {
  const lines = [address, description].filter(Boolean).map((line) => made("span", "earlier-description", line));
  for (const line of lines) line.dir = "auto";
  return [made("bdi", "", name), ...lines];
}
