"""Fixtures: a canary, the people who must not see it, and the one who may."""

from collections.abc import Iterator
from dataclasses import dataclass

import django
import pytest
from django.core.cache import cache

# A conftest named on the command line is loaded before pytest-django sets up Django; models cannot be imported before that.
django.setup()

from chatui.models.user import User
from tests.canary import planting
from tests.canary.planting import Planted
from tests.chatui.conftest import ada, backend, bela, conversation, grace, hank, make_person, sam
from tests.support.canary import Canary

__all__ = ["ada", "backend", "bela", "conversation", "grace", "hank", "sam"]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Forget the password attempts of earlier tests."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def canary() -> Canary:
    return Canary()


@pytest.fixture
def vera(db: None) -> User:
    """Staff who may open other people's conversations, but not see hidden channels."""
    return make_person("vera", "view_any_conversation", staff=True)


ADMIN_PERMISSIONS = ("add_user", "change_user", "delete_user", "view_user", "add_group", "change_group", "delete_group", "view_group")
TOOLS = ("view_tools", "change_tools", "connect_tools")
BACKENDS = ("add_storedbackend", "change_storedbackend", "delete_storedbackend", "view_storedbackend")


@pytest.fixture
def olga(db: None) -> User:
    """Staff who manage accounts, groups and model servers, and may see nothing of conversations."""
    return make_person(
        "olga",
        *ADMIN_PERMISSIONS,
        *BACKENDS,
        "view_usage",
        "offer_assistants",
        "offer_collections",
        "change_limits",
        *TOOLS,
        "view_conversation",
        "view_message",
        "view_turn",
        "change_conversation",
        staff=True,
    )


@dataclass
class World:
    """The planted conversations, and the people."""

    canary: Canary
    planted: Planted
    deleted: Planted
    people: dict[str, User | None]


@pytest.fixture
def world(canary: Canary, ada: User, bela: User, sam: User, hank: User, vera: User, olga: User, grace: User) -> World:
    people = {
        "anonymous": None,
        "owner": ada,
        "other": bela,
        "staff": sam,
        "hidden only": hank,
        "any only": vera,
        "admin": olga,
        "both": grace,
    }
    return World(canary, planting.plant(ada, canary), planting.plant(ada, canary, deleted=True), people)
