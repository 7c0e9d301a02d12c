"""The page's frame, which stays in place while people read, jump, edit and use menus."""

from collections.abc import Callable

from playwright.sync_api import Page

MAX_STEPS = 400


def walk(page: Page, look: Callable[[str], None], key: str = "Tab") -> int:
    """Press the key until the focus has been everywhere and leaves the page; call ``look`` after each step. Returns the number of steps."""
    for step in range(MAX_STEPS):
        page.keyboard.press(key)
        focused = str(page.evaluate("() => document.activeElement?.outerHTML.slice(0, 80) ?? ''"))
        if focused.startswith("<body"):
            return step
        look(focused)
    raise AssertionError(f"the focus does not leave the page after {MAX_STEPS} steps")
