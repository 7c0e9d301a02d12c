// Loads the code for the installed app after everything else.

addEventListener("load", () => void import("./installed.js").then((module) => module.start(), () => {}));
