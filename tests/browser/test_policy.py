"""What the Content-Security-Policy and Trusted Types block in a browser, and that no page of ours needs what they block."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

# ``visits`` fails every test of this directory if a page violates the policy, logs an error or sends a request to another host.


def test_code_and_mathematics_are_set_under_the_policy(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))

    chat.ask_and_wait("explain")

    expect(chat.answer.locator(".katex-html").first).to_be_visible()
    expect(chat.answer.locator("code[data-coloured] .hljs-keyword").first).to_be_visible()
    expect(chat.answer.locator(".katex-error")).to_have_count(0)
    assert chat.page.evaluate("policiesMade") == ["chatui"]
    policy = chat.page.request.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy and "trusted-types chatui;" in policy + ";"


def test_a_script_that_got_in_could_neither_make_html_nor_a_policy_nor_ask_another_host(demo: Server, visits: Visits) -> None:
    visits.allow("policy: |TrustedHTML|TrustedTypePolicy|Content Security Policy|Refused to|request to http://elsewhere")
    page = visits.open(demo, "ada")

    for attack in (
        "document.body.innerHTML = '<p>in</p>'",
        "trustedTypes.createPolicy('other', { createHTML: html => html })",
        "trustedTypes.createPolicy('chatui', { createHTML: html => html })",
        "document.write('<p>in</p>')",
    ):
        assert page.evaluate(f"() => {{ try {{ {attack}; return 'done' }} catch (error) {{ return error.name }} }}") == "TypeError", attack
    assert page.evaluate("fetch('http://elsewhere.example/').then(() => 'done', error => error.name)") == "TypeError"
    assert len([text for text in visits.seen if text.startswith("console") and "policy: " in text]) >= 4
