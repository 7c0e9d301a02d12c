// Measures the page as it is: tab stops, focus, Tab order, overflow, cut-off text, and the size of targets.

globalThis.measures = (() => {
  const FOCUSABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const name = (element) => {
    const words = element.ariaLabel || element.textContent.trim().replace(/\s+/g, " ").slice(0, 40) || element.name || "";
    return `${element.localName}${element.id ? "#" + element.id : ""}.${[...element.classList].join(".")} “${words}”`;
  };
  const isShown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    const isThere = element.checkVisibility({ opacityProperty: false, visibilityProperty: true, contentVisibilityAuto: false });
    return isThere && width > 0 && height > 0 && !element.closest("[inert]");
  };
  const isReached = (element) => {
    if (element.disabled || element.tabIndex < 0 || !isShown(element)) return false;
    const modal = document.querySelector("dialog:modal");
    if (modal && !modal.contains(element)) return false;
    // In a group of radio buttons, Tab reaches only the chosen one, and arrow keys the others.
    return !(element.type === "radio" && !element.checked && element.form?.querySelector(`input[name="${element.name}"]:checked`));
  };

  /** Every element that Tab should reach. */
  const stops = () => [...document.querySelectorAll(FOCUSABLE)].filter(isReached);

  /** The focused element: its number and name, whether its focus ring shows, and whether it is uncovered. */
  const focused = () => {
    const element = document.activeElement;
    if (!element || element === document.body || element === document.documentElement) return null;
    const known = (globalThis.known ??= new Map());
    if (!known.has(element)) known.set(element, known.size);
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(element);
    const around = element.parentElement?.closest(".composer-box, .question-editor, label");
    const rings = [element, around].filter(Boolean).map((each) => getComputedStyle(each));
    return {
      number: known.get(element),
      name: name(element),
      isRinged: rings.some((style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2),
      looks: [outlineStyle, outlineWidth, boxShadow, borderColor].join(" "),
      isSeen: isSeen(element),
    };
  };

  /** Whether part of the element is visible: in the window, and not covered by anything else. */
  const isSeen = (element) => {
    const { top, left, bottom, right } = element.getBoundingClientRect();
    const [x0, x1] = [Math.max(left, 0), Math.min(right, innerWidth)];
    const [y0, y1] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
    if (x1 - x0 < 2 || y1 - y0 < 2) return false;
    const parts = [0.1, 0.5, 0.9];
    return parts.some((across) =>
      parts.some((down) => {
        const hit = document.elementFromPoint(x0 + (x1 - x0) * across, y0 + (y1 - y0) * down);
        return hit && (element.contains(hit) || hit.contains(element) || hit.labels || hit.closest("label")?.contains(element));
      }),
    );
  };

  /** The nearest scroll container of an element. */
  const scroller = (element) => {
    for (let each = element.parentElement; each; each = each.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(each).overflowY)) return each;
    }
    return document.scrollingElement;
  };

  /** The visible position of an element: one that is scrolled out of a list is at the list's edge, not below what follows the list. */
  const visiblePlace = (element) => {
    const [{ top, bottom, left, right }, area] = [element.getBoundingClientRect(), scroller(element).getBoundingClientRect()];
    const within = (y) => Math.min(Math.max(y, area.top), area.bottom);
    return { top: within(top), bottom: within(bottom), left, right };
  };

  /** The Tab steps that lead up and to the left within one part of the page, in the current layout. @param {number[]} order */
  const backward = (order) => {
    const elements = [...globalThis.known.keys()];
    const steps = order.slice(1).map((number, index) => [elements[order[index]], elements[number]]);
    const part = (element) => element.closest("nav, header, main, footer, dialog, form, [popover], .toasts");
    return steps
      .filter(([one, other]) => {
        if (!isShown(one) || !isShown(other) || part(one) !== part(other) || other.contains(one)) return false;
        const place = scroller(one) === scroller(other) ? (each) => each.getBoundingClientRect() : visiblePlace;
        const [from, to] = [one, other].map(place);
        return to.bottom <= from.top + 1 && to.left < from.right;
      })
      .map(([one, other]) => `from ${name(one)} to ${name(other)}`);
  };

  /** How far the page itself can scroll sideways, and which elements stick out. */
  const sideways = () => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= innerWidth) return [];
    const out = [...document.body.querySelectorAll("*")].filter((each) => isShown(each) && each.getBoundingClientRect().right > innerWidth + 1);
    return [`${root.scrollWidth} of ${innerWidth} px`, ...out.slice(-3).map(name)];
  };

  /** Elements whose own text is cut off without an ellipsis. */
  const cutOff = () =>
    [...document.body.querySelectorAll("*")].filter((element) => {
      if (!isShown(element) || element.clientWidth < 2 || element.closest(".visually-hidden, .skip-link, template, svg, .katex, [aria-hidden=true]")) return false;
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
      const hides = (how) => how === "hidden" || how === "clip";
      const isWide = hides(overflowX) && textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 1;
      return hasText && (isWide || (hides(overflowY) && element.scrollHeight > element.clientHeight + 2));
    }).map(name);

  /** Touch targets that are less than 44 pixels high or wide. Links in running text are exempt, and a check box is as large as its label. */
  const small = () =>
    stops()
      .filter((each) => !each.matches(":is(p, li, dd, span, td) > a:not(.aside-title), .prose *, [tabindex], .skip-link, .incident, summary, .footnote a"))
      .map((each) => ({ each, box: (/^(checkbox|radio)$/.test(each.type) && each.labels?.[0] ? each.labels[0] : each).getBoundingClientRect() }))
      .filter(({ box }) => Math.min(box.width, box.height) < 43.5)
      .map(({ each, box }) => `${name(each)} ${Math.round(box.width)} × ${Math.round(box.height)}`);

  return { small, stops: () => stops().map(name), focused, backward, sideways, cutOff };
})();
