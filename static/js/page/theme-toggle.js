// <theme-toggle>: the choice between light, dark and the system's theme. It is stored in this browser, where it
// overrides the account's.

const THEME_KEY = "chatui:theme";

class ThemeToggle extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", this.#choose);
    addEventListener("storage", this.#follow);
    this.#show();
  }

  disconnectedCallback() {
    removeEventListener("storage", this.#follow);
  }

  /** @param {Event} event */
  #choose = (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-theme]") : null;
    const theme = button?.getAttribute("data-theme");
    if (!theme) return;
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(THEME_KEY, theme);
    } catch {
      // Without storage, the choice lasts for this page.
    }
    this.#show();
  };

  /** @param {StorageEvent} event */
  #follow = (event) => {
    if (event.key !== THEME_KEY) return;
    document.documentElement.dataset.theme = event.newValue ?? "system";
    this.#show();
  };

  #show() {
    const chosen = document.documentElement.dataset.theme ?? "system";
    for (const button of this.querySelectorAll("[data-theme]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-theme") === chosen));
    }
  }
}

customElements.define("theme-toggle", ThemeToggle);
