"""A person, for whole turns."""

from tests.chatui.conftest import ada as ada
