// Hides the list of conversations before the first paint, if the person had folded it away, and opens the folders that
// were open, as high as they were. It is a classic script in the head on purpose: a module would run too late, and the
// page would jump.
//
// And decides whether Enter sends, or starts a new line as on phones, whose keyboards have no other key for that. The
// parts of the page look for "data-enter"; the person can choose otherwise in the sheet of shortcuts.

(() => {
  const { dataset } = document.documentElement;
  /** @param {string} key */
  const stored = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      // Storage may be forbidden; then it is as usual.
      return null;
    }
  };
  const touch = matchMedia("(pointer: coarse)");
  const decide = () => {
    dataset.enter = stored("chatui:enter") ?? (touch.matches ? "line" : "send");
  };
  if (stored("chatui:list") === "folded") dataset.list = "folded";
  decide();
  addEventListener("storage", decide);
  touch.addEventListener("change", decide);
  addEventListener("focusin", ({ target }) => {
    const isMessage = target instanceof HTMLTextAreaElement && target.closest(".composer-form, .question-editor");
    if (isMessage) target.enterKeyHint = dataset.enter === "line" ? "enter" : "send";
  });
  // As "sidebar/folders.js" has stored them, once the parser has come to them.
  const kept = stored("chatui:folders")?.split(" ") ?? [];
  const open = new Map(kept.map((each) => /** @type {[string, string]} */ (each.split(":"))));
  const watching = new MutationObserver(() => {
    for (const [id, height] of open) {
      const items = document.querySelector(`.folder[data-folder="${id}"] .folder-items`);
      if (!(items instanceof HTMLElement)) continue;
      open.delete(id);
      items.closest("details")?.setAttribute("open", "");
      items.style.setProperty("--kept", height);
    }
    // What comes after the list: a folder that is not there by now is gone.
    if (!open.size || document.querySelector("chat-composer")) watching.disconnect();
  });
  if (open.size) watching.observe(document, { childList: true, subtree: true });
  addEventListener("DOMContentLoaded", () => watching.disconnect());
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
  const fields = "input, textarea, iframe, [contenteditable]";
  // A button that was clicked, or that the page moved the focus to, has it, too: nobody writes to that. :focus-visible
  // does not tell, since the first letter makes it true.
  const controls = `:is(a, button, summary, select), ${fields}`;
  let isByTab = false;
  addEventListener("pointerdown", () => (isByTab = false), true);
  // AltGr counts as Ctrl and Alt in some browsers; a Mac's Option writes other letters.
  /** @param {KeyboardEvent} event */
  const writes = ({ key, ctrlKey, altKey, metaKey }) => {
    if (metaKey || (ctrlKey && !altKey)) return false;
    return (altKey && !ctrlKey ? /^(?:[^\0-~]|Dead)$/u : /^(?:\S|Dead|Process)$/u).test(key);
  };
  addEventListener("keydown", (event) => {
    isByTab ||= event.key === "Tab";
    const isWanted = document.activeElement?.matches(isByTab ? controls : fields);
    const isElsewhere = isWanted || document.querySelector("dialog[open], :popover-open");
    if (writes(event) && !isElsewhere) document.getElementById("composer-text")?.focus({ preventScroll: true });
  }, true);
})();
