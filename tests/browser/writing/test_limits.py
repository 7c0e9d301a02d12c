"""Usage limits on the page: the messages near a limit and beyond it, and that no question is lost."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

LIMIT = """
from django.contrib.auth.models import Group
from chatui.models import UsageLimit, User
group = Group.objects.create(name="limited {name}")
UsageLimit.objects.create(group=group, day_turns={turns})
group.user_set.add(User.objects.get(username="{name}"))
"""


def limited(deployment: Deployment, name: str, turns: int) -> None:
    deployment.make_people(**{name: (False, [])})
    deployment.manage("shell", "--no-imports", "-c", LIMIT.format(name=name, turns=turns))


def test_near_a_limit_the_page_says_so_and_beyond_it_the_question_stays(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    limited(demo_deployment, "lena", 1)
    chat = Chat(visits.open(demo, "lena"))
    chat.page.wait_for_timeout(2_500)  # other processes apply new limits within two seconds
    chat.ask_and_wait("Hello!")
    expect(chat.page.locator(".usage-note")).to_have_text(re.compile("You have used 100% of your limit until .+"))
    chat.ask("And again?")
    expect(chat.problem).to_have_text(re.compile(r"You have reached your limit for today\. You can ask again after .+\."))
    expect(chat.box).to_have_value("And again?")
    expect(chat.exchanges).to_have_count(1)
    chat.page.goto("/usage/")
    expect(chat.page.locator(".usage-near .usage-words")).to_have_text("1 of 1 answers")


def test_a_refused_text_is_back_before_the_page_knows_how_to_say_until_when(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    limited(demo_deployment, "liva", 0)
    chat = Chat(visits.open(demo, "liva"))
    held: list[Route] = []
    chat.page.route("**/composer/limits*", lambda route: held.append(route))
    chat.page.wait_for_timeout(2_500)
    chat.ask("Hello!")
    expect(chat.box).to_have_value("Hello!")
    expect(chat.problem).to_have_text("You have reached your limit for today.")
    assert held, "the premise"
    held[0].fallback()
    expect(chat.problem).to_have_text(re.compile(r"today\. You can ask again after .+\."))
    expect(chat.box).to_have_value("Hello!")
