// The prompts that tool servers list. Each server is asked by itself, so that one that is slow or away holds up no
// other. What a server says is shown as plain text.

import { t } from "../language/words.js";
import { made } from "../page/made.js";
import { messageOf, postJson, read } from "../page/server.js";
import { askFor, lineField, tell } from "./prompt-blanks.js";

/** @import { Reply, Told } from "./prompt-blanks.js" */
/** @typedef {{ name: string, about: string, required: boolean }} Argument */
/** @typedef {{ name: string, begins: string, pick: string, fields: Argument[] }} Listed */
/** @typedef {Listed & { from: string, server: string }} ServerPrompt */
/** @typedef {Told & { isAsked: boolean, at: number, prompts: ServerPrompt[] }} Listing `at`: when it was there */

const KEPT_MS = 60_000;

/** @param {string} server */
const pathOf = (server) => `/prompts/servers/${encodeURIComponent(server)}/`;

export class ServerPrompts {
  /** @type {Map<string, Listing>} */
  #listings = new Map();
  #changed;

  /** @param {() => void} changed a server has answered, or failed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Asks these servers, and forgets others. What was read a moment ago stays. @param {string[]} servers */
  ask(servers) {
    for (const name of this.#listings.keys()) if (!servers.includes(name)) this.#listings.delete(name);
    for (const server of servers) {
      const known = this.#listings.get(server);
      const isFresh = known && !known.message && performance.now() - known.at < KEPT_MS;
      if (!known?.isAsked && !isFresh) void this.#read(server, known?.prompts ?? []);
    }
  }

  /** @returns {ServerPrompt[]} */
  get found() {
    return [...this.#listings.values()].flatMap(({ prompts }) => prompts);
  }

  /** The names of the servers that have not answered yet. */
  get asked() {
    return [...this.#listings].filter(([, { isAsked }]) => isAsked).map(([server]) => server);
  }

  /** Why servers gave nothing. @returns {Told[]} */
  get failures() {
    return [...this.#listings.values()].filter(({ message }) => message);
  }

  /** @param {string} server @param {ServerPrompt[]} before */
  async #read(server, before) {
    this.#listings.set(server, { isAsked: true, at: 0, prompts: before });
    /** @type {Told & { prompts?: Listed[] }} */
    let got;
    try {
      got = /** @type {Told & { prompts?: Listed[] }} */ (JSON.parse(await read(pathOf(server))));
    } catch (error) {
      got = { message: `${server}: ${messageOf(error)}` };
    }
    if (!this.#listings.has(server)) return;
    const from = `${t("Tool server")} · ${server}`;
    const prompts = (got.prompts ?? []).map((each) => ({ ...each, from, server }));
    const { message = "", connect = "" } = got;
    this.#listings.set(server, { isAsked: false, at: performance.now(), prompts, message, connect });
    this.#changed();
  }
}

/**
 * Asks for the arguments of a prompt, if it has some, and then the server for its text.
 * @param {ServerPrompt} prompt
 * @returns {Promise<Reply | null>} null if the person closed the form
 */
export function askServer({ name, begins, server, pick, fields }) {
  const asked = fields.map(({ name: own, about, required }) => {
    const input = Object.assign(lineField(), { required });
    input.toggleAttribute("data-optional", !required);
    return { label: required ? own : t("%(name)s (optional)", { name: own }), about, input };
  });
  const goes = fields.length ? t("What you fill in goes to %(server)s.", { server }) : "";
  return askFor(name, [begins, goes].filter(Boolean), asked, async (values) => {
    const sent = new URLSearchParams([["pick", pick], ...values.map((value) => ["value", value])]);
    return /** @type {Reply} */ (await postJson(pathOf(server), sent));
  });
}

/** Lines that say what is awaited, and what failed. @param {ServerPrompts} servers */
export function notesOf(servers) {
  const { asked, failures } = servers;
  const waiting = asked.length ? [made("p", "prompt-note", `${asked.join(", ")}: ${t("The server is asked…")}`)] : [];
  const failed = failures.map((told) => {
    const line = made("p", "prompt-note");
    tell(line, told);
    return line;
  });
  return [...waiting, ...failed];
}
