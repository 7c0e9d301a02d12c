// <failure-cause>: what caused a failure, below its sentence, on the pages of those who look after the back ends.

import { t } from "../language/words.js";
import { causeOf } from "../page/server.js";

class FailureCause extends HTMLElement {
  async connectedCallback() {
    const causes = this.closest("[data-causes]")?.getAttribute("data-causes");
    if (!causes || !this.dataset.turn || this.textContent) return;
    try {
      const cause = await causeOf(`${causes}${this.dataset.turn}/cause/`);
      this.textContent = t("For admins: %(cause)s", { cause });
      this.hidden = false;
    } catch {
      // The sentence above says what the person can do; the cause stands on the admin page, too.
    }
  }
}

customElements.define("failure-cause", FailureCause);
