// Buttons that show what was typed into a field for a password or key. It is hidden again before it is sent, so that
// browsers keep it as a password and not among the texts that they suggest.

export function preparePasswords() {
  for (const button of document.querySelectorAll(".password-show")) {
    const field = button.previousElementSibling;
    if (button instanceof HTMLButtonElement && field instanceof HTMLInputElement) prepare(button, field);
  }
}

/**
 * @param {HTMLButtonElement} button
 * @param {HTMLInputElement} field
 */
function prepare(button, field) {
  button.hidden = false;
  button.addEventListener("click", () => show(field.type === "password"));
  field.form?.addEventListener("submit", () => show(false));

  /** @param {boolean} isShown */
  function show(isShown) {
    field.spellcheck = false; // some browsers send the text of other fields to a service
    field.type = isShown ? "text" : "password";
    button.ariaPressed = String(isShown);
  }
}
