import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../static/vendor/", import.meta.url);
const SUMS = new Map(
  readFileSync(new URL("CHECKSUMS", ROOT), "utf8")
    .trim()
    .split("\n")
    .map((line) => /** @type {[string, string]} */ ([line.slice(66), line.slice(0, 64)])),
);
const OURS = /^(?:CHECKSUMS|README\.md|.*\.d\.ts)$/;

test("the code of others is what was reviewed, to the byte", () => {
  for (const [name, sum] of SUMS) {
    assert.equal(createHash("sha256").update(readFileSync(new URL(name, ROOT))).digest("hex"), sum, name);
  }
});

test("nothing lies beside it that was not", () => {
  const files = readdirSync(ROOT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath ?? entry.path}/${entry.name}`.replaceAll("\\", "/").split("/static/vendor/")[1] ?? "")
    .map((name) => name.replace(/^\/+/, ""));
  assert.ok(files.length > SUMS.size);
  assert.deepEqual(files.filter((name) => !OURS.test(name) && !SUMS.has(name)), []);
});

test("each comes with its licence", () => {
  for (const name of SUMS.keys()) assert.ok(SUMS.has(`${name.split("/")[0]}/LICENSE`), name);
});
