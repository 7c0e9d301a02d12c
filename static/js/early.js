// Hides the list of conversations before the first paint, if the person had folded it away. It is a classic script in
// the head on purpose: a module would run too late, and the page would jump.

(() => {
  try {
    if (localStorage.getItem("chatui:list") === "folded") document.documentElement.dataset.list = "folded";
  } catch {
    // Storage may be forbidden; then the list is shown.
  }
})();

// Decides whether Enter sends, or starts a new line as on phones, whose keyboards have no other key for that. The parts
// of the page look for "data-enter"; the person can choose otherwise in the sheet of shortcuts.

(() => {
  const touch = matchMedia("(pointer: coarse)");
  const decide = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem("chatui:enter");
    } catch {
      // Storage may be forbidden; then it is as usual for the device.
    }
    document.documentElement.dataset.enter = chosen ?? (touch.matches ? "line" : "send");
  };
  decide();
  addEventListener("storage", decide);
  touch.addEventListener("change", decide);
  addEventListener("focusin", ({ target }) => {
    const isMessage = target instanceof HTMLTextAreaElement && target.closest(".composer-form, .question-editor");
    if (isMessage) target.enterKeyHint = document.documentElement.dataset.enter === "line" ? "enter" : "send";
  });
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
  const sends = ({ key, target, shiftKey, altKey, ctrlKey, metaKey, isComposing, keyCode }) => {
    const isText = target instanceof Element && target.matches("textarea, input");
    if (!isText || key !== "Enter" || isComposing || keyCode === 229 || shiftKey || altKey) return false;
    return ctrlKey || metaKey || target.matches("input, :root:not([data-enter=line]) *");
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
