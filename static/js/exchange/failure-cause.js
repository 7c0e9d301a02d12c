// <failure-cause>: the cause of a failure, below its message, for people who manage back ends.

import { t } from "../language/words.js";
import { failureCause } from "../page/server.js";

class FailureCause extends HTMLElement {
  async connectedCallback() {
    const causes = this.closest("[data-causes]")?.getAttribute("data-causes");
    if (!causes || !this.dataset.turn || this.textContent) return;
    try {
      const cause = await failureCause(`${causes}${this.dataset.turn}/cause/`);
      this.textContent = t("For admins: %(cause)s", { cause });
      this.hidden = false;
    } catch {
      // The message above already says what to do, and the admin page shows the cause too.
    }
  }
}

customElements.define("failure-cause", FailureCause);
