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
