import assert from "node:assert/strict";
import { test } from "node:test";

import { News } from "../../static/js/models/news.js";

test("what was read before news came is read again", async () => {
  const news = new News();
  const titles = ["the old title", "the new title"];

  const page = await news.read(async () => {
    const title = titles.shift();
    if (title === "the old title") news.came();
    return title;
  });

  assert.deepEqual(page, { content: "the new title", isFresh: true });
});

test("where nothing happens meanwhile it is read once", async () => {
  let readings = 0;

  const page = await new News().read(async () => (readings += 1));

  assert.deepEqual(page, { content: 1, isFresh: true });
});

test("news without end are no reason to read without end, and what was read is not taken for fresh", async () => {
  const news = new News();
  let readings = 0;

  const page = await news.read(async () => {
    news.came();
    return (readings += 1);
  });

  assert.equal(page.isFresh, false);
  assert.ok(readings < 10);
});
