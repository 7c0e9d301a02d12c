// The script of the import page: says what is in the chosen file before it is imported. Without it, the button leads to
// a page that says so, where the file has to be chosen again.

import "./site.js";
import { find, parse } from "./page/dom.js";
import { messageOf, postFile } from "./page/server.js";

const form = find(document, "#import-form", HTMLFormElement);
const place = find(form, "#import-found", HTMLElement);
const field = find(form, "input[type=file]", HTMLInputElement);
const button = find(form, "button[name=look]", HTMLButtonElement);

button.addEventListener("click", (event) => {
  if (!form.checkValidity()) return;
  event.preventDefault();
  void look();
});
field.addEventListener("change", () => place.replaceChildren());

async function look() {
  const fields = new FormData(form, button);
  const file = field.files?.[0];
  button.disabled = true;
  try {
    const page = parse(await postFile(location.pathname, fields));
    if (field.files?.[0] !== file) return; // another one was chosen meanwhile
    const problems = page.querySelector(".form-problem");
    place.replaceChildren(...(problems ? [problems] : find(page, "#import-found", HTMLElement).childNodes));
  } catch (error) {
    if (field.files?.[0] === file) place.textContent = messageOf(error);
  } finally {
    button.disabled = false;
  }
}
