"""Limits of usage on the page: what is said near to one and beyond it, and that no question is lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

LIMIT = """
from django.contrib.auth.models import Group
from chatui.models import UsageLimit, User
group = Group.objects.create(name="limited")
UsageLimit.objects.create(group=group, day_turns=1)
group.user_set.add(User.objects.get(username="lena"))
"""


def test_near_to_a_limit_the_page_says_so_and_beyond_it_the_question_stays(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    demo_deployment.make_people(lena=(False, []))
    demo_deployment.manage("shell", "--no-imports", "-c", LIMIT)
    chat = Chat(visits.open(demo, "lena"))
    chat.page.wait_for_timeout(2_500)  # other processes hear of limits within two seconds
    chat.ask_and_wait("Hello!")
    expect(chat.page.locator(".usage-note")).to_have_text(re.compile("You have used 100% of what you may use until .+"))
    chat.ask("And again?")
    expect(chat.problem).to_have_text(re.compile(r"You have used as much as you may use today\. You can ask again from .+ on\."))
    expect(chat.box).to_have_value("And again?")
    expect(chat.exchanges).to_have_count(1)
    chat.page.goto("/usage/")
    expect(chat.page.locator(".usage-near .usage-words")).to_have_text("1 of 1 answers")
