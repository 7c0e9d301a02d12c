"""A real message in the browser passes through the scripts that ARCHITECTURE.md names, in that order."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.places import ROOT
from tests.support.served import Server
from tests.support.walk import steps

pytestmark = pytest.mark.browser

# Matches the beginning of functions and methods, which is at the end of a line: all scripts are formatted alike.
BEGINS = re.compile(
    r"^(?P<line>(?:  )?(?:export )?(?:async )?(?:function )?(?!if\b|for\b|while\b|switch\b|catch\b)[#\w]+\([^)]*\) \{)$", re.MULTILINE
)
QUESTION = "Explain something with a list"
SENT = "the message left"
WATCH = f"""
globalThis.passed = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {{
  if (data.includes("{QUESTION}")) globalThis.passed.push("{SENT}");
  return send.call(this, data);
}};
// Calls from timers, such as the check for a silent connection, are not part of the walk.
const repeat = globalThis.setInterval;
globalThis.setInterval = (run, ...rest) => repeat((...given) => {{
  const passed = globalThis.passed;
  globalThis.passed = undefined;
  try {{ run(...given); }} finally {{ globalThis.passed = passed; }}
}}, ...rest);
"""


def test_a_message_passes_the_scripts_of_the_walk_in_their_order(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", "about:blank", own=True)
    page.context.route("**/*.js", recording_scripts)
    page.add_init_script(WATCH)
    page.goto("/")
    chat = Chat(page)
    chat.ask_and_wait("Hello")
    chat.settle()
    page.evaluate("globalThis.passed = []")

    chat.ask_and_wait(QUESTION)

    passed: list[str] = page.evaluate("globalThis.passed")
    left = passed.index(SENT)
    # What a message that arrives meanwhile passes comes before the request: the last call of each script counts there.
    for heading, way in (("Request path", unique(passed[:left][::-1])[::-1]), ("Response path", unique(passed[left:]))):
        named = steps(heading, "js")
        assert len(named) > 2, "hardly any script is named, so this test would prove nothing"
        assert [name for name in named if name not in way] == [], f"not called; called: {way}"
        assert named == sorted(named, key=way.index), f"another order: {[name for name in way if name in named]}"


def recording_scripts(route: Route) -> None:
    """Serve the script's source with each function recording its call. Addresses contain a digest."""
    path = re.sub(r"\.[0-9a-f]{12}(?=\.js$)", "", urlsplit(route.request.url).path).lstrip("/")
    text = (ROOT / path).read_text(encoding="utf-8")
    if "/vendor/" not in path:
        text = BEGINS.sub(lambda match: f'{match["line"]} globalThis.passed?.push("{path}");', text)
    route.fulfill(content_type="text/javascript", body=text)


def unique(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))
