// <answer-time>: when an answer was written, in the reader's time zone. The server renders it in its own.

import { moment } from "../language/words.js";
import { find } from "../page/dom.js";

class AnswerTime extends HTMLElement {
  connectedCallback() {
    const time = find(this, "time", HTMLTimeElement);
    time.textContent = moment(time.dateTime);
  }
}

customElements.define("answer-time", AnswerTime);
