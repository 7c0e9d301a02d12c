"""``make attack``: loads every known attack in a real browser, in every way in which text reaches a page; fails if any succeeds."""

import sys
import time
from collections import Counter

from tests.attacks import second_opinion
from tests.attacks.attacks import LARGER, Attack, everything
from tests.attacks.harness import attack, chromium
from tests.attacks.ways import WAYS
from tests.tools.chromium import find, why_not

SECONDS = 5.0
"""Limit of processor time for rendering one attack in one way, in seconds."""

SECOND_OPINION = {"a model's text, whole", "a model's text, wrapped"}
"""The ways that the second sanitizer checks; streamed text went through the first sanitizer in the same way."""

SHOWN = 20


def main() -> int:
    """Render and load everything, and print the findings."""
    browser_path = find()
    if browser_path is None:
        print(f"The attacks were not run. {why_not()}")
        return 1
    attacks = everything()
    print(f"{len(attacks):,} attacks. " + ("" if LARGER.is_file() else "The larger collection is not here: CHATUI_SHARED_DIR can name it."))
    lost = 0
    with chromium(browser_path) as browser:
        for way in WAYS:
            started = time.monotonic()
            rendered, slow = render(way, attacks)
            found = list(attack(browser, list(rendered)))
            differing = [html for html in rendered if way in SECOND_OPINION and second_opinion.differs(html)]
            took = time.monotonic() - started
            print(f"{way}: {len(rendered):,} different pieces of HTML in {took:.0f} s, {len(found) + len(slow) + len(differing)} findings")
            for finding in found[:SHOWN]:
                print(f"  {finding.kind} ({finding.mode}): {finding.detail!r} from {rendered[finding.html].text[:200]!r}")
            for name in slow[:SHOWN]:
                print(f"  over {SECONDS} s: {name}")
            for html in differing[:SHOWN]:
                print(f"  the second sanitizer would change: {html[:200]!r}")
            lost += len(found) + len(slow) + len(differing)
    print("Nothing was won." if not lost else f"{lost} findings.")
    return 1 if lost else 0


def render(way: str, attacks: list[Attack]) -> tuple[dict[str, Attack], list[str]]:
    """The distinct pieces of HTML, each with an attack that produces it; and the attacks that took too long."""
    pieces: dict[str, Attack] = {}
    slow = Counter[str]()
    for one in attacks:
        started = time.process_time()
        for html in WAYS[way](one.text):
            pieces.setdefault(html, one)
        if way != "a model's text, streamed" and time.process_time() - started > SECONDS:
            slow[f"{one.name} ({one.source})"] += 1
    return pieces, list(slow)


if __name__ == "__main__":
    sys.exit(main())
