import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../static/js/", import.meta.url);
const FILES = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
const SINKS = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|parseFromString|setHTML|srcdoc|\beval\(|new Function|createPolicy/;

/** @param {string} name */
const source = (name) => readFileSync(new URL(name, ROOT), "utf8");

test("HTML enters the page in dom.js and nowhere else", () => {
  assert.ok(FILES.length > 20, "the scripts were not found");
  assert.match(source("page/dom.js"), SINKS);
  assert.deepEqual(FILES.filter((name) => name !== "page/dom.js" && SINKS.test(source(name))), []);
});

test("every static import ends in a semicolon, so that hashed names reach it", () => {
  const open = FILES.filter((name) => /^(?:import|export)\b[^;(]*?["']\.{1,2}\/[^"']+["'](?!;)/m.test(source(name)));
  assert.deepEqual(open, []);
});

test("no script names another host", () => {
  assert.deepEqual(FILES.filter((name) => /https?:\/\//.test(source(name))), []);
});

/** Whose listeners are begun once, for all pages that are shown one after another, or take themselves away. */
const FOR_ALL = new Set([
  "composer/leaving.js", "page/menus.js", "page/unsent.js", "page/finishing.js", // once
  "sidebar/renaming.js", // as long as a title is edited
  "composer/temporary.js", "page/printing.js", "page/draw-diagram.js", // on pages that no other takes the place of
]);

test("what a page listens to beyond itself ends with it", () => {
  const rooms = /^(?:chat|composer|exchange|files|page|sidebar)\//;
  const open = FILES.filter((name) => rooms.test(name) && !FOR_ALL.has(name)).flatMap((name) => {
    const calls = source(name).matchAll(/^ +(?:(?:document|window|dark|view)\.)?addEventListener\((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*\)/gm);
    return [...calls].filter(([call]) => !/\b(?:signal|life|caught)\b/.test(call)).map(([call]) => `${name}: ${call.trim()}`);
  });
  assert.deepEqual(open, []);
});
