"""A model server with many random answers, one for each question, which goes on with each only as far as its test lets it."""

import json
import random
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.stub import DONE, chunk
from tests.support.summarizer import THOUGHT

_WORDS = [
    *("alpha", "beta", "*gamma*", "**delta**", "`epsilon`", "~~zeta~~", "η", "東京", "שלום", "[link](https://a.example/b?c=d&e=f)"),
    *("[ref]", "2*3", "$x^2$", "\\(y_1\\)", "😀", "&amp;", "<b>"),
]
_LANGUAGES = ("python", "js", "", "sql")
_TIMEOUT = 120


def markdown(chance: random.Random, blocks: int) -> str:
    """Some blocks of all kinds, nested, with a definition at the end that changes earlier ones."""
    parts = [chance.choice(_BLOCKS)(chance) for _ in range(blocks)]
    if chance.random() < 0.5:
        parts.append("[ref]: https://ref.example/ 'A title'")
    return "\n\n".join(parts)


def _words(chance: random.Random, most: int = 20) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, most)))


def _items(chance: random.Random) -> str:
    mark = chance.choice(("- {}", "{}. ", "- [x] "))
    lines = [mark.format(number) + _words(chance, 5) for number in range(1, chance.randint(2, 9))]
    if chance.random() < 0.4:
        lines.append("  - " + _words(chance, 4))
        lines.append("\n  ```python\n  inside = 1\n  ```")
    return "\n".join(lines)


def _table(chance: random.Random) -> str:
    rows = [f"| {_words(chance, 2)} | {_words(chance, 3)} |" for _ in range(chance.randint(1, 8))]
    return "\n".join(("| a | b |", "|---|--:|", *rows))


def _code(chance: random.Random) -> str:
    lines = [f"if x < {number}: print('*{number}*')  # &" for number in range(chance.randint(1, 15))]
    return "\n".join((f"```{chance.choice(_LANGUAGES)}", *lines, "```"))


def _formula(chance: random.Random) -> str:
    return chance.choice(("$$\n\\frac{a}{b} < c\n$$", "\\[ \\sum_{i=1}^{n} i \\]", "$$ \\unknown{ $$"))


_BLOCKS: tuple[Any, ...] = (
    _words,
    lambda chance: "\n".join(_words(chance) for _ in range(3)),
    lambda chance: "## " + _words(chance, 4),
    _items,
    _table,
    _code,
    _formula,
    lambda chance: "\n".join("> " + line for line in _items(chance).split("\n")),
    lambda chance: "> " + _words(chance) + "\n> \n> " + _words(chance),
    lambda _: "---",
)


def pieces(chance: random.Random, text: str) -> list[str]:
    """The text, cut anywhere."""
    found = []
    while text:
        size = chance.choice((1, 2, 5, 12, 40))
        found.append(text[:size])
        text = text[size:]
    return found


@dataclass
class Script:
    """What the model writes to one question: events for each request in turn. ``end``: the state of the answer then. ``allowed``: how
    many of all events may be sent."""

    samplings: list[list[bytes]]
    end: str = "completed"
    allowed: float = 0
    sent: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def length(self) -> int:
        return sum(map(len, self.samplings))

    def allow(self, count: float = float("inf")) -> None:
        """Let so many of the events be sent, from the first."""
        with self.changed:
            self.allowed = count
            self.changed.notify_all()

    def reached(self) -> bool:
        return self.sent >= min(self.allowed, self.length)

    def step(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.sent < self.allowed, _TIMEOUT), "nobody allowed the rest"
            self.sent += 1


def script(chance: random.Random) -> Script:
    """An answer of one message, or one with plans and calls before it; with reasoning or without."""
    samplings: list[list[bytes]] = []
    for number in range(chance.choice((0, 0, 1, 2))):
        call = {"index": 0, "id": f"c{number}", "function": {"name": "current_time", "arguments": "{}"}}
        samplings.append([*_thought(chance), *_text(chance, 1), chunk(tool_calls=[call]), chunk("tool_calls")])
    end = chance.choice(("stop", "stop", "stop", "length"))
    last = [*_thought(chance), *_text(chance, chance.choice((1, 1, 2, 6))), chunk(end)]
    return Script([*samplings, last], "completed" if end == "stop" else "incomplete")


def _thought(chance: random.Random) -> list[bytes]:
    text = THOUGHT * 3 if chance.random() < 0.5 else "Hm."
    return [chunk(reasoning_content=text[start : start + 200]) for start in range(0, len(text), 200)]


def _text(chance: random.Random, blocks: int) -> list[bytes]:
    return [chunk(content=piece) for piece in pieces(chance, markdown(chance, blocks))]


class Player:
    """Listens on loopback. A question contains ``#`` and the number of its script."""

    def __init__(self) -> None:
        self.scripts: dict[int, Script] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.player = self
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def add(self, seed: object) -> tuple[int, Script]:
        """A new script and its number."""
        number = len(self.scripts) + 1
        self.scripts[number] = script(random.Random(f"answer {seed}"))
        return number, self.scripts[number]

    def close(self) -> None:
        for each in self.scripts.values():
            each.allow()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    player: Player


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "player", "object": "model"}]}).encode()
        self._head("application/json")
        self.wfile.write(body)

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))["messages"]
        asked = [(at, found[-1]) for at, each in enumerate(messages) if each["role"] == "user" and (found := _numbers(each["content"]))]
        at, number = asked[-1]
        turn = self.server.player.scripts[int(number)]
        calls = sum(1 for each in messages[at:] if each["role"] == "tool")
        self._head("text/event-stream")
        for event in turn.samplings[min(calls, len(turn.samplings) - 1)]:
            turn.step()
            self.wfile.write(event)
            self.wfile.flush()
        self.wfile.write(DONE)

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _numbers(content: Any) -> list[str]:
    return re.findall(r"#(\d+)", content if isinstance(content, str) else json.dumps(content))
