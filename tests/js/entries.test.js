import assert from "node:assert/strict";
import { test } from "node:test";
import { News, dayGroup } from "../../static/js/sidebar/entries.js";

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

test("conversations are grouped by the reader's calendar days, not by hours", () => {
  const now = new Date(2026, 10, 20, 0, 30);
  assert.equal(dayGroup(new Date(2026, 10, 20, 0, 1), now), "Today");
  assert.equal(dayGroup(new Date(2026, 10, 19, 23, 59), now), "Yesterday");
  assert.equal(dayGroup(new Date(2026, 10, 18, 23, 59), now), "Earlier");
});

test("yesterday is right on the first day of a month", () => {
  assert.equal(dayGroup(new Date(2026, 9, 31, 12), new Date(2026, 10, 1, 12)), "Yesterday");
});

test("a conversation from a server whose clock is ahead stands under today", () => {
  assert.equal(dayGroup(new Date(2026, 10, 21, 8), new Date(2026, 10, 20, 23, 59)), "Today");
});
