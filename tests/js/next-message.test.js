import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { joined } from "../../static/js/composer/next-message.js";

/** @param {string} id */
const file = (id) => ({ id, name: `${id}.txt`, use: "whole", places: "" });

test("a file that waits already goes out once", () => {
  const written = { text: "More", effort: "low", choice: "", files: [file("a"), file("b")] };
  const rest = { clientId: "1", turn: "t1", reason: "", files: [file("a")] };
  const { files, text, problem } = joined({ ...written, ...rest, text: "First", state: "waiting" }, written, 100);
  assert.deepEqual(files.map(({ id }) => id), ["a", "b"]);
  assert.equal(text, "First\n\nMore");
  assert.equal(problem, null);
});
