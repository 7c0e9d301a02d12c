"""The page's frame, which stays in place while people read, jump, edit and use menus."""

from collections.abc import Callable

from playwright.sync_api import Page

MAX_STEPS = 400

ABSOLUTE_OUTSIDE = """() => {
  const styles = (element) => getComputedStyle(element);
  const holds = (style) => style.position !== "static" || style.translate !== "none" || style.transform !== "none"
    || /paint|layout|strict|content/.test(style.contain) || style.contentVisibility === "auto";
  const scrolls = (style) => /auto|scroll|hidden/.test(style.overflowX + style.overflowY);
  const outside = (element) => {
    for (let part = element.parentElement; part && part !== document.body; part = part.parentElement) {
      if (holds(styles(part))) return null;
      if (scrolls(styles(part))) return `${element.localName}.${element.className} hangs outside of ${part.localName}.${part.className}`;
    }
    return null;
  };
  const absolute = [...document.querySelectorAll("body *")].filter((element) => styles(element).position === "absolute");
  return absolute.map(outside).filter(Boolean);
}"""
"""Finds absolutely positioned elements inside a scroll container that do not scroll with it, and so make the page itself longer."""

STRETCHED = """() => {
  const bottoms = [...document.body.children].map((child) => child.getBoundingClientRect().bottom + scrollY);
  return document.scrollingElement.scrollHeight - Math.max(innerHeight, Math.ceil(Math.max(...bottoms)) + 4);
}"""
"""By how many pixels the document is taller than its content."""

COVERED = """() => {
  const focused = document.activeElement;
  const box = focused.getBoundingClientRect();
  const bars = [...document.querySelectorAll(".debug-bar, .debug-search")].filter((bar) => getComputedStyle(bar).position === "sticky");
  const hides = (bar) => bar.top <= box.top && box.bottom <= bar.bottom;
  const isOver = focused.matches(".skip-link");
  return !isOver && bars.some((bar) => !bar.contains(focused) && hides(bar.getBoundingClientRect())) ? 1 : 0;
}"""
"""Whether a sticky bar covers the focused element."""


def walk(page: Page, look: Callable[[str], None], key: str = "Tab") -> int:
    """Press the key until the focus has been everywhere and leaves the page; call ``look`` after each step. Returns the number of steps."""
    for step in range(MAX_STEPS):
        page.keyboard.press(key)
        focused = str(page.evaluate("() => document.activeElement?.outerHTML.slice(0, 80) ?? ''"))
        if focused.startswith("<body"):
            return step
        look(focused)
    raise AssertionError(f"the focus does not leave the page after {MAX_STEPS} steps")
