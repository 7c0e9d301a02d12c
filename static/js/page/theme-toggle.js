// <theme-toggle>: the choice between light, dark and the system's theme. It is stored in this browser only.

const KEY = "chatui:theme";

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
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // Without storage the choice lasts for this page.
    }
    this.#show();
  };

  /** @param {StorageEvent} event */
  #follow = (event) => {
    if (event.key !== KEY) return;
    const { dataset } = document.documentElement;
    if (event.newValue === "light" || event.newValue === "dark") dataset.theme = event.newValue;
    else delete dataset.theme;
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
