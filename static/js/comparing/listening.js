// What lets a person see other versions: one instead of another, several side by side, and one of another model's.

import { Versions } from "../exchange/versions.js";
import { AgainMenu } from "./again-menu.js";
import { Comparison } from "./comparison.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */

/** @param {ChatTranscript} transcript */
export function listenForVersions(transcript) {
  const comparison = new Comparison(transcript);
  new Versions(transcript).listen();
  comparison.listen();
  new AgainMenu(transcript, comparison).listen();
}
