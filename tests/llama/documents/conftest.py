"""A fixture: a person who asks whole turns."""

from tests.chatui.conftest import ada as ada
