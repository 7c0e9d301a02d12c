import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff, Heartbeat, LOOK_MS } from "../../static/js/page/connection.js";

test("each wait is about twice the one before, up to a limit", () => {
  const backoff = new Backoff(() => 1);
  const waits = Array.from({ length: 9 }, () => backoff.next());
  assert.deepEqual(waits.slice(0, 5), [500, 1000, 2000, 4000, 5000]);
  assert.equal(waits.at(-1), 5_000);
});

test("chance spreads a wait over half of its length", () => {
  assert.equal(new Backoff(() => 0).next(), 250);
  assert.equal(new Backoff(() => 1).next(), 500);
});

test("after a success it begins anew", () => {
  const backoff = new Backoff(() => 1);
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 500);
});

/** @param {Heartbeat} heart @param {number} from @param {string} wanted */
const momentOf = (heart, from, wanted) => {
  for (let now = from; now < from + 60_000; now += LOOK_MS) if (heart.look(now) === wanted) return now - from;
  throw new Error(`never ${wanted}`);
};

test("a loss is noticed within three seconds of the last message, however the looks fall", () => {
  for (let offset = 0; offset < LOOK_MS; offset += 10) {
    const heart = new Heartbeat();
    heart.heard(1000 - offset);
    assert.ok(momentOf(heart, 1000, "late") + offset + LOOK_MS <= 3000);
  }
});

test("a server that answers is asked again and again, and is never late", () => {
  const heart = new Heartbeat();
  heart.heard(0);
  for (let now = 0; now < 60_000; now += LOOK_MS) {
    const verdict = heart.look(now);
    assert.ok(verdict === null || verdict === "ask");
    if (verdict === "ask") heart.heard(now + 150);
  }
});

test("messages make questions unnecessary", () => {
  const heart = new Heartbeat();
  for (let now = 0; now < 60_000; now += LOOK_MS) {
    heart.heard(now);
    assert.equal(heart.look(now + 50), null);
  }
});

test("it is asked once, then late, then dead", () => {
  const heart = new Heartbeat();
  heart.heard(0);
  const verdicts = [];
  for (let now = 0; now < 8000; now += LOOK_MS) verdicts.push(heart.look(now));
  const order = verdicts.filter((verdict, place) => verdict !== verdicts[place - 1]);
  assert.deepEqual(order, [null, "ask", null, "late", "dead"]);
});

test("who looked away for an hour asks first: the silence may be their own", () => {
  const heart = new Heartbeat();
  heart.heard(0);
  assert.equal(heart.look(3_600_000), "ask");
  assert.equal(heart.look(3_600_200), null);
});
