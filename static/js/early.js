// Hides the list of conversations before the first paint, if the person had folded it away. It is a classic script in
// the head on purpose: a module would run too late, and the page would jump.

(() => {
  try {
    if (localStorage.getItem("chatui:list") === "folded") document.documentElement.dataset.list = "folded";
  } catch {
    // Storage may be forbidden; then the list is shown.
  }
})();

// Holds back what is submitted before the page's modules are loaded: Enter would start a new line, and a form would
// load another page. It is a classic script in the head on purpose. The parts of the page look for "data-asked" when
// they start.

(() => {
  const forms = ".composer-form, .search-form, .question-editor";
  /** @param {Event} event */
  const hold = (event) => {
    const form = event.target instanceof Element ? event.target.closest(forms) : null;
    if (!(form instanceof HTMLElement) || "ready" in form.dataset) return;
    if (event instanceof KeyboardEvent && !sends(event)) return;
    event.preventDefault();
    form.dataset.asked = "";
  };
  /** As in "composer/drafts.js", which cannot be imported here. @param {KeyboardEvent} event */
  const sends = ({ key, target, shiftKey, altKey, isComposing, keyCode }) => {
    const isText = target instanceof Element && target.matches("textarea, input");
    return isText && key === "Enter" && !isComposing && keyCode !== 229 && !shiftKey && !altKey;
  };
  addEventListener("keydown", hold, true);
  addEventListener("submit", hold, true);
})();

// Moves the focus to the message box when a key writes: the browser then writes into it, also with an input method. It
// is here because people type before the page's modules are loaded.

(() => {
  // After a click, a button has the focus without showing it: nobody writes to that.
  const controls = ":is(a, button, summary):focus-visible, input, select, textarea, iframe, [contenteditable]";
  /** AltGr counts as Ctrl and Alt in some browsers; a Mac's Option writes other letters. @param {KeyboardEvent} event */
  const writes = ({ key, ctrlKey, altKey, metaKey }) => {
    if (metaKey || (ctrlKey && !altKey)) return false;
    return (altKey && !ctrlKey ? /^(?:[^\0-~]|Dead)$/u : /^(?:\S|Dead|Process)$/u).test(key);
  };
  /** @param {KeyboardEvent} event */
  const lead = (event) => {
    const { activeElement: active } = document;
    const isElsewhere = active?.matches(controls) || document.querySelector("dialog[open], :popover-open");
    if (writes(event) && !isElsewhere) document.getElementById("composer-text")?.focus({ preventScroll: true });
  };
  addEventListener("keydown", lead, true);
})();
