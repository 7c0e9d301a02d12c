import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

const ORIGIN = "https://chat.example";
const TEMPLATE = readFileSync(new URL("../../templates/site/worker.js", import.meta.url), "utf8");
const WORKER = TEMPLATE
  .replace("{{ release|escapejs }}", "1")
  .replace("{% url 'offline' %}", "/offline/")
  .replace(/\{% for .*?endfor %\}/, "");
const SCRIPT = `${ORIGIN}/static/js/chat/page.0123456789ab.js`;

/**
 * The worker's handlers over this network and these caches; gives what asks it for an address.
 * @param {{ fetch: () => Promise<unknown>, caches: unknown }} around
 */
function worker(around) {
  /** @type {Record<string, (event: object) => void>} */
  const handlers = {};
  /** @param {string} type @param {(event: object) => void} handler */
  const addEventListener = (type, handler) => { handlers[type] = handler; };
  runInContext(WORKER, createContext({ ...around, addEventListener, URL, Response, location: { origin: ORIGIN } }));
  /** @param {string} url @param {{ mode?: string, waits?: boolean }} [how] whether it waits until what is shown is stored */
  return async (url, { mode = "no-cors", waits = true } = {}) => {
    /** @type {Promise<unknown>[]} */
    const waiting = [];
    /** @type {unknown} */
    let response;
    handlers.fetch?.({
      request: { method: "GET", mode, url },
      respondWith: (/** @type {unknown} */ given) => { response = given; },
      waitUntil: (/** @type {Promise<unknown>} */ given) => waiting.push(given),
    });
    const shown = await response;
    if (waits) await Promise.all(waiting);
    return shown;
  };
}

/** @param {object} [differs] */
function served(differs = {}) {
  const headers = new Headers({ "Content-Type": "text/javascript; charset=utf-8" });
  return { status: 200, ok: true, type: "basic", redirected: false, headers, clone: () => "a copy", ...differs };
}

/** @param {object} [differs] */
function memory(differs = {}) {
  /** @type {unknown[]} */
  const stored = [];
  const cache = { match: async () => undefined, put: async (/** @type {unknown} */ _, /** @type {unknown} */ copy) => stored.push(copy), ...differs };
  return { stored, caches: { open: async () => cache } };
}

const refuse = async () => { throw new Error("quota"); };
const never = () => new Promise(() => {});

test("a static file that the network gave is served and cached", async () => {
  const { stored, caches } = memory();
  const response = served();
  assert.equal(await worker({ fetch: async () => response, caches })(SCRIPT), response);
  assert.deepEqual(stored, ["a copy"]);
});

test("a cache that refuses keeps no file from the page", async () => {
  for (const caches of [{ open: refuse }, memory({ put: refuse }).caches, memory({ match: refuse }).caches]) {
    const response = served();
    assert.equal(await worker({ fetch: async () => response, caches })(SCRIPT), response);
  }
});

test("the page does not wait until its file is stored", { timeout: 5_000 }, async () => {
  const response = served();
  const request = worker({ fetch: async () => response, caches: memory({ put: never }).caches });
  assert.equal(await request(SCRIPT, { waits: false }), response);
});

test("only whole files of our own with a fitting type are cached", async () => {
  const html = new Headers({ "Content-Type": "text/html" });
  const others = [{ status: 206 }, { status: 404, ok: false }, { redirected: true }, { type: "opaque" }, { type: "cors" }];
  for (const differs of [...others, { headers: html }, { headers: new Headers() }]) {
    const { stored, caches } = memory();
    const response = served(differs);
    assert.equal(await worker({ fetch: async () => response, caches })(SCRIPT), response);
    assert.deepEqual(stored, [], JSON.stringify(differs));
  }
  for (const type of ["text/css", "application/javascript", "image/svg+xml", "font/woff2"]) {
    const { stored, caches } = memory();
    const headers = new Headers({ "Content-Type": type });
    await worker({ fetch: async () => served({ headers }), caches })(SCRIPT);
    assert.equal(stored.length, 1, type);
  }
});

test("without a network there is the page that says so, or the browser's own", async () => {
  const cached = memory({ match: async () => "no connection" });
  assert.equal(await worker({ fetch: refuse, caches: cached.caches })(`${ORIGIN}/`, { mode: "navigate" }), "no connection");
  const shown = /** @type {Response} */ (await worker({ fetch: refuse, caches: { open: refuse } })(`${ORIGIN}/`, { mode: "navigate" }));
  assert.equal(shown.type, "error");
});
