"""Draws the PNG icons of the installed app from ``static/icons/favicon.svg``: ``python -m tests.tools.icons``. Needs Chromium."""

import re
import sys

from playwright.sync_api import sync_playwright

from tests.support.places import ROOT
from tests.tools import chromium

FOLDER = ROOT / "static" / "icons"
PAGE = "<style>body {{ margin: 0 }} svg {{ display: block; width: {0}px; height: {0}px }}</style>{1}"
WHOLE = re.compile(r'<rect width="24" height="24" rx="6"')


def main() -> int:
    """Draw all sizes."""
    path = chromium.find()
    if path is None:
        print(chromium.why_not())
        return 1
    mark = (FOLDER / "favicon.svg").read_text(encoding="utf-8")
    # A maskable icon fills its square with its content in the middle; so does the icon for iOS, which rounds the corners itself.
    filled = WHOLE.sub('<rect x="-4" y="-4" width="32" height="32"', mark).replace('viewBox="0 0 24 24"', 'viewBox="-3 -3 30 30"')
    drawings = {"app-192": (192, mark), "app-512": (512, mark), "app-maskable-512": (512, filled), "app-180": (180, filled)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        for name, (size, svg) in drawings.items():
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(PAGE.format(size, svg))
            page.screenshot(path=FOLDER / f"{name}.png", omit_background=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
