"""The prompts and resources of an MCP server as a person is shown them, and what comes of one that they pick.

Whoever changes how a server is asked for them changes it here, and in no test.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui.tools import prompts, resources
from chatui.tools.picks import NoSuchPickError
from chatui.tools.remote.offers import ResponseTooLongError, ServerError
from tests.support import environment
from tests.support.mcp_server import Mcp, result
from tests.support.mcp_sessions import tools_file
from tests.support.peer import peer
from tests.support.tool_servers import close_servers, forget_servers

NAME = "library"


class NotGivenError(Exception):
    """Why the server gave nothing, for the log."""


class TooLongError(NotGivenError):
    """It gave more than may be read."""


class NotShownError(Exception):
    """Nothing that the person was shown, or a value that cannot be filled in."""


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except NoSuchPickError:
        raise NotShownError from None
    except ResponseTooLongError as error:
        raise TooLongError(str(error)) from None
    except ServerError as error:
        raise NotGivenError(str(error)) from None


@dataclass
class Library:
    """The server, at which one person looks. ``mcp.on`` may be changed at any time."""

    mcp: Mcp
    person: UUID = field(default_factory=uuid4)
    picks: list[str] = field(default_factory=list)
    """Of what was shown last, in its order."""

    def prompts(self, *entries: Any) -> list[Any]:
        """The prompts that the person is shown. ``entries``: what the server lists from now on."""
        if entries:
            self.mcp.on["prompts/list"] = result({"prompts": list(entries)})
        with _told():
            found = prompts.listed(NAME, self.person)
        self.picks = [pick for _, pick in found]
        return [each for each, _ in found]

    def filled(self, *values: str, answer: object = None, pick: str = "") -> tuple[str, list[str]]:
        """The text of the prompt that was shown first, filled in with these, and the kinds of what is not in it. ``answer``: what the
        server returns for it."""
        if answer is not None:
            self.mcp.on["prompts/get"] = result(answer)
        with _told():
            found = prompts.filled(NAME, self.person, pick or self.picks[0], values)
        return found.text, [str(each) for each in found.left_out]

    def page(self, token: str = "", **answers: Any) -> resources.ResourcePage:
        """A page of what can be attached. ``answers``: what the server lists from now on, of ``resources`` and ``templates``."""
        for what, answer in answers.items():
            self.mcp.on[{"templates": "resources/templates/list"}.get(what, f"{what}/list")] = result(answer)
        with _told():
            found = resources.page(NAME, self.person, token)
        self.picks = [pick for _, pick in (*found.resources, *found.templates)]
        return found

    def contents(self, answer: object = None, **values: str) -> list[tuple[str, bytes]]:
        """The files that come of what was shown first: their names, and what is in them. ``answer``: what the server returns for it;
        ``values``: for the fields of a template."""
        if answer is not None:
            self.mcp.on["resources/read"] = result(answer)
        with _told():
            return [(each.name, each.data) for each in resources.contents(NAME, self.person, self.picks[0], values)]


@contextmanager
def library(mcp: Mcp | None = None, **table: Any) -> Iterator[Library]:
    """A server of the tools file, which has neither prompts nor resources unless ``mcp`` says so. ``table``: of that file, such as the
    ``command`` of a program."""
    about = {"supportedVersions": ["2026-07-28"], "capabilities": {"prompts": {}, "resources": {}}}
    server = mcp or Mcp(on={"server/discover": result(about)})
    for what in ("prompts", "resources"):
        server.on.setdefault(f"{what}/list", result({what: []}))
    server.on.setdefault("resources/templates/list", result({"resourceTemplates": []}))
    with peer(server) as served, tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        where = {} if "command" in table else {"url": served.url}
        file = tools_file(Path(place), **{"name": NAME, "tools": ["add"], **where, **table})
        environment.change(patch, {"tools_file": file, "backend_url": "http://127.0.0.1:9"})
        try:
            yield Library(server)
        finally:
            close_servers(NAME)
            forget_servers()
