import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { Following } from "../../static/js/chat/open-conversation.js";

const VIEW = 500;
/** @param {number} top @param {number} height @param {number} [view] */
const at = (top, height, view = VIEW) => ({ top, height, view });

test("it follows from the start and while text grows", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(700, 1200));
  assert.equal(following.isOn, true);
});

test("a reader who scrolls up is let go", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(460, 1000));
  assert.equal(following.isOn, false);
});

test("a reader who scrolls up at the moment in which text comes is let go", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.resized(at(400, 1000));
  assert.equal(following.isOn, false);
});

test("text that grows, shrinks or gets more room is no reader who scrolls up", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.resized(at(500, 1200));
  following.resized(at(450, 950));
  following.resized(at(400, 1000, 600));
  assert.equal(following.isOn, true);
});

test("it stays let go while text grows below", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(300, 1000));
  following.scrolled(at(300, 1400));
  assert.equal(following.isOn, false);
});

test("a reader who comes back to the end is followed again", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(300, 1000));
  assert.equal(following.isOn, false);
  following.scrolled(at(480, 1000));
  assert.equal(following.isOn, true);
});

test("content that shrinks is no reader who scrolls up", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(380, 900));
  assert.equal(following.isOn, true);
});

test("a view that grows, as when the keyboard goes away, is no reader who scrolls up", () => {
  const following = new Following();
  following.scrolled(at(700, 1000, 300));
  following.scrolled(at(450, 1000, 500));
  assert.equal(following.isOn, true);
});

test("a tremble of a pixel does not let go", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(499, 1001));
  assert.equal(following.isOn, true);
});

test("the button brings it back", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.scrolled(at(100, 1000));
  assert.equal(following.isOn, false);
  following.resume();
  assert.equal(following.isOn, true);
});

test("a reader who is led to a place of their own is not taken to the end by growing text", () => {
  const following = new Following();
  following.scrolled(at(500, 1000));
  following.leave();
  assert.equal(following.isOn, false);
  following.scrolled(at(100, 1200));
  assert.equal(following.isOn, false);
  following.scrolled(at(700, 1200));
  assert.equal(following.isOn, true, "back at the end it follows again");
});
