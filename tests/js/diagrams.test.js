import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { heightIn, nameOf } from "../../static/js/page/diagrams.js";

test("a diagram is called by its own title, or else by its kind", () => {
  assert.equal(nameOf("flowchart LR\n  A --> B"), "Flowchart, drawn from its source");
  assert.equal(nameOf("---\ntitle: x\n---\n%% a comment\nsequenceDiagram\n  A->>B: hi"), "Sequence diagram, drawn from its source");
  assert.equal(nameOf("%%{init: {}}%%\nstateDiagram-v2\n  [*] --> A"), "State diagram, drawn from its source");
  assert.equal(nameOf("flowchart LR\n  accTitle: How orders flow\n  A --> B"), "How orders flow");
});

test("what is no kind that is known is a diagram all the same", () => {
  for (const source of ["", "42", "constructor", "toString x", "xychart-beta"]) {
    assert.equal(nameOf(source), "Diagram, drawn from its source");
  }
});

test("a frame is believed a height within limits", () => {
  assert.equal(heightIn({ isDrawn: true, height: 120.2 }), 121);
  assert.equal(heightIn({ isDrawn: true, height: 1e9 }), 4000);
  assert.equal(heightIn({ isDrawn: true, height: -5 }), 32);
});

test("a frame is believed nothing else", () => {
  const replies = [
    ...[null, undefined, "drawn", 4, [], {}, { isDrawn: false, height: 3 }, { isDrawn: "true", height: 3 }],
    ...[{ isDrawn: true }, { isDrawn: true, height: "3" }, { isDrawn: true, height: NaN }, { isDrawn: true, height: Infinity }],
    { isDrawn: true, height: { valueOf: () => 3 } },
  ];
  for (const reply of replies) assert.equal(heightIn(reply), null);
});
