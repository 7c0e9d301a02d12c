// What makes the page an app of its own is loaded when everything else is there.

addEventListener("load", () => void import("./installed.js").then((module) => module.start(), () => {}));
