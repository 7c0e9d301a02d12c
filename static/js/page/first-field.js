// A page whose only purpose is one form begins in its first field, or in the first that was filled in wrongly. Not
// where that would open a keyboard on the screen, or the form is a part below others, under a heading of its own; and
// nothing is scrolled: what stands above is to be read first.

const TEXT = "input:not([type=hidden], [type=checkbox], [type=radio], [type=file], [type=submit]), textarea";

export function focusFirstField() {
  const isFree = document.activeElement === document.body && !location.hash && matchMedia("(pointer: fine)").matches;
  const main = document.getElementById("main");
  const forms = main?.querySelectorAll("form") ?? [];
  const [form] = forms;
  if (!isFree || forms.length !== 1 || !(form instanceof HTMLFormElement) || form.method !== "post") return;
  if (main?.querySelector("h2:has(~ form)")) return;
  const controls = [...form.elements].filter((control) => !control.matches("[type=hidden], button[type=button]"));
  const field = form.querySelector(`.field-wrong :is(${TEXT})`) ?? controls[0];
  if (field instanceof HTMLElement && field.matches(TEXT)) field.focus({ preventScroll: true });
}
