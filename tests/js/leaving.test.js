import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { MemoryStorage } from "./memory-storage.js";

const ROOT = new URL("../../static/js/", import.meta.url);
// How the page looks, and what informs other tabs of the sign-out. SECURITY.md promises that nothing else stays.
const STAYS = ["chatui:theme", "chatui:list", "chatui:effort", "chatui:shortcuts", "chatui:enter", "chatui:wrap"];

const FILES = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
/** @param {string} name */
const source = (name) => readFileSync(new URL(name, ROOT), "utf8");
/** @param {string} text */
const names = (text) => [...text.matchAll(/(["'`])(chatui:.*?)\1/g)].map((found) => found[2] ?? "");

/** What scripts store things by: all such names that are not those of events. */
function keys() {
  const events = new Set(FILES.filter((name) => name.startsWith("wire/")).flatMap((name) => names(source(name))));
  const others = FILES.flatMap((name) => names(source(name))).filter((name) => !events.has(name));
  return [...new Set(others)];
}

/** Signs ada out at once, as the sign-in page does that says so. @param {MemoryStorage[]} storages */
async function leave([local, session] = []) {
  class HTMLElement {
    dataset = { signedOut: "ada" };
  }
  const documentElement = { dataset: {}, lang: "en" };
  const document = { addEventListener() {}, querySelector: () => new HTMLElement(), documentElement };
  const [location, history] = [{ pathname: "/sign-in/" }, { replaceState() {} }];
  Object.assign(globalThis, { document, HTMLElement, location, history, addEventListener() {} });
  Object.defineProperty(globalThis, "localStorage", { value: local, configurable: true });
  Object.defineProperty(globalThis, "sessionStorage", { value: session, configurable: true });
  const { watchLeaving } = await import("../../static/js/composer/leaving.js");
  watchLeaving();
}

test("what scripts store is named so that it is found here", () => {
  for (const name of FILES) {
    const constants = [...source(name).matchAll(/^(?:export )?const (\w*KEY|PREFIX|MINE|LEFT) = (.*);$/gm)];
    for (const [line, , value] of constants) assert.match(value ?? "", /^"chatui:[a-z:]+"$/, `${name}: ${line}`);
    const given = [...source(name).matchAll(/\b(?:[gs]etItem|removeItem|recall|remember)\(([^,)]+)/g)].map((found) => found[1] ?? "");
    const known = /^(?:\w*KEY|MINE|LEFT|key|event|this\.key\(.*|"chatui:[a-z:]+")$/;
    assert.deepEqual(given.filter((key) => !known.test(key)), [], name);
  }
});

test("after a sign-out a browser keeps how the page looks and nothing else that scripts store", async () => {
  assert.ok(keys().includes("chatui:draft:") && keys().includes("chatui:folders"), "the keys were not found");
  const storages = [new MemoryStorage(), new MemoryStorage()];
  for (const storage of storages) {
    for (const key of keys()) storage.setItem(key.endsWith(":") ? `${key}ada:c1` : key, "mine");
    storage.setItem("chatui:draft:ben:c1", "of somebody whose session ended without a sign-out");
  }
  await leave(storages);
  for (const storage of storages) {
    const left = Array.from({ length: storage.length }, (_, index) => storage.key(index));
    const others = left.filter((key) => !STAYS.includes(key ?? "") && key !== "chatui:left");
    assert.deepEqual(others, ["chatui:draft:ben:c1"]);
  }
  assert.equal(storages[0]?.getItem("chatui:left"), null);
  for (const key of STAYS) assert.equal(storages[0]?.getItem(key), "mine", key);
});
