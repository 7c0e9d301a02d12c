import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { ServerPrompts } from "../../static/js/composer/server-prompts.js";

const PROMPT = { name: "Review", begins: "", pick: "p", fields: [] };
/** @type {Record<string, unknown>} What servers answer; those that are missing never do. */
const answers = {};
/** @type {string[]} */
let asked = [];

globalThis.fetch = (path) => {
  const server = String(path).split("/").at(-2) ?? "";
  asked.push(server);
  const answer = answers[server];
  if (answer === undefined) return new Promise(() => undefined);
  return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(Response.json(answer));
};

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("each server is asked by itself, and one that never answers holds up no other", async () => {
  Object.assign(answers, { library: { ok: true, prompts: [PROMPT] }, closed: { message: "closed gives none", connect: "/c/" } });
  let changes = 0;
  const servers = new ServerPrompts(() => (changes += 1));
  servers.ask(["archive", "closed", "library"]);
  await settled();
  assert.deepEqual(asked, ["archive", "closed", "library"]);
  assert.equal(changes, 2);
  assert.deepEqual(servers.found, [{ ...PROMPT, from: "Tool server · library", server: "library" }]);
  assert.deepEqual(servers.asked, ["archive"]);
  assert.deepEqual(servers.failures.map(({ message, connect }) => [message, connect]), [["closed gives none", "/c/"]]);
});

test("what is there is not asked for again, what failed is, and what is still awaited is awaited once", async () => {
  const servers = new ServerPrompts(() => undefined);
  servers.ask(["archive", "closed", "library"]);
  await settled();
  asked = [];
  servers.ask(["archive", "closed", "library"]);
  assert.deepEqual(asked, ["closed"]);
  assert.equal(servers.found.length, 1);
});

test("a server that is not named any more is forgotten, and one that cannot be reached is named", async () => {
  const servers = new ServerPrompts(() => undefined);
  servers.ask(["library"]);
  await settled();
  answers["away"] = new TypeError("no network");
  servers.ask(["away"]);
  await settled();
  assert.deepEqual(servers.found, []);
  assert.match(servers.failures[0]?.message ?? "", /^away: /);
});
