"""Finds the Chromium that the browser tests drive; ``python -m tests.tools.chromium`` installs Debian's if permitted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.tools import debian

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
HEADLESS = "chromium-headless-shell"
"""The same engine without windows, tabs and their processes: a page takes a quarter less processor time."""
PLACES = (Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"), Path("/Applications/Chromium.app/Contents/MacOS/Chromium"))

# Chromium itself has no fonts: text would be measured and photographed as empty boxes.
PACKAGES = ("chromium", "fonts-dejavu-core", "fonts-noto-color-emoji")
# Two megabytes cover all of Chinese, Japanese and Korean.
FONTS = ("fonts-wqy-microhei",)


def find() -> Path | None:
    """The browser: ``CHATUI_CHROMIUM`` if set, otherwise the first on the PATH; None if there is none."""
    named = os.environ.get("CHATUI_CHROMIUM")
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    return next((place for place in PLACES if os.access(place, os.X_OK)), None)


def find_headless() -> Path | None:
    """The browser of most tests: the one named by ``CHATUI_CHROMIUM``, otherwise the headless build, otherwise any."""
    light = None if os.environ.get("CHATUI_CHROMIUM") else shutil.which(HEADLESS)
    return Path(light) if light else find()


def has_fonts() -> bool:
    """Whether Chinese and Korean can be drawn. Where this cannot be determined, such as on a Mac, they are assumed to be installed."""
    lister = shutil.which("fc-list")
    if lister is None:
        return True
    return all(subprocess.run([lister, f":lang={language}"], capture_output=True, check=False).stdout for language in ("zh-cn", "ko"))


def why_not() -> str:
    """One sentence that says why the browser tests were skipped."""
    named = os.environ.get("CHATUI_CHROMIUM")
    if named:
        return f"CHATUI_CHROMIUM names {named}, which is no program that can be run."
    return "There is no Chromium on this machine. Install it (Debian: apt-get install chromium) or name one with CHATUI_CHROMIUM."


def main() -> int:
    """Install a browser if possible. Never an error: the tests report what they could not run."""
    if find() is None and not os.environ.get("CHATUI_CHROMIUM") and debian.may_install():
        print("Installing Chromium for the browser tests; this takes a minute, the first time only.")
        if not debian.install(*PACKAGES):
            print("Chromium could not be installed; what apt-get said is above.")
    if find() is not None and not os.environ.get("CHATUI_CHROMIUM") and not shutil.which(HEADLESS) and debian.may_install():
        debian.install(HEADLESS)  # older systems have none; then all tests drive the full browser
    if not has_fonts() and debian.may_install() and not debian.install(*FONTS):
        print("Fonts for Chinese and Korean could not be installed; what apt-get said is above.")
    if find() is None:
        print(f"The browser tests will not run. {why_not()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
