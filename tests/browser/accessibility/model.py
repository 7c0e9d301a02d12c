"""A model server that answers as the question says: with rich Markdown, a refusal, a cut answer, or one that waits for the test."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.stub import DONE, chunk

RICH = """# A heading of the answer

Words with *stress*, **weight**, ~~a mistake~~, `code`, [a link](https://example.org/page) and a price of $5.

## Lists

1. First
2. Second
   - nested

- [x] done
- [ ] to do

> A quotation.

| Name | A column with a long name | Another one with a long name | And one more of that kind | Number |
| --- | --- | --- | --- | ---: |
| one | cell that does not break easily | cell that does not break easily | cell that does not break easily | 1 |

```python
def greet(name: str) -> str:
    # A comment that is long enough to need more room than a narrow window has, so that the block scrolls.
    return f"Hello, {name}! " + "x" * 100
```

Inline $a^2 + b^2 = c^2$ and on its own line:

$$\\int_0^1 \\frac{x^4 (1-x)^4}{1+x^2} dx = \\frac{22}{7} - \\pi$$

```mermaid
graph TD
  A[Start] --> B{Choice}
  B --> C[End]
```

### Right to left

مرحبا بالعالم، هذا نص عربي طويل.

A note.[^1] It was read in two places.【0†L1-L3】 The second says more.【1†L2-L9】

[^1]: The text of the note.
"""
REFUSALS: dict[str, tuple[int, dict[str, str], dict[str, str]]] = {
    "It is not set up": (401, {"code": "invalid_api_key"}, {}),
    "It is busy": (429, {"type": "rate_limit_error"}, {"Retry-After": "90"}),
    "It does not allow this": (400, {"code": "content_filter"}, {}),
}
THINKS = "Think until I say so"
WRITES = "Write until I say so"
CUT = "Stop at the limit"
ONLY_THINKS = "Think and say nothing"
EVERYTHING = "Show everything that Markdown has"
ASK_ME = "Ask me before you answer"
QUESTIONS = [
    {"question": "How many people are coming?", "choices": ["2", "4", "more"]},
    {"question": "What does nobody eat?", "choices": ["meat", "fish", "nuts and all that has been near a nut"], "several": True},
    {"question": "What is the occasion?"},
]


class Model:
    """A server on loopback. ``resume`` releases the answers that wait; after ``hold``, they wait again."""

    def __init__(self) -> None:
        self._going = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.going = self._going
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def hold(self) -> None:
        """From now on, pause the answers to questions that request a pause."""
        self._going.clear()

    def resume(self) -> None:
        """Write the rest of every paused answer, and pause no more."""
        self._going.set()

    def close(self) -> None:
        """Release all answers and stop the server."""
        self.resume()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    going: threading.Event


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer(200, {"object": "list", "data": [{"id": "writer", "object": "model"}]}, {})

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        if question in REFUSALS:
            status, error, headers = REFUSALS[question]
            self._answer(status, {"error": {"message": "no", **error}}, headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self._write(question)

    def _write(self, question: str) -> None:
        self._say(reasoning_content="What was asked, and what is known about it. ")
        if question == ASK_ME:
            function = {"name": "ask_person", "arguments": json.dumps({"questions": QUESTIONS})}
            self._say(tool_calls=[{"index": 0, "id": "c0", "type": "function", "function": function}])
            self.wfile.write(chunk("tool_calls") + DONE)
            return
        if question == THINKS:
            self.server.going.wait(120)
        if question != ONLY_THINKS:
            self._say(content=RICH if question == EVERYTHING else "Two and two")
        if question == WRITES:
            self.server.going.wait(120)
        if question not in (ONLY_THINKS, EVERYTHING, CUT):
            self._say(content=" are four.")
        self.wfile.write(chunk("length" if question == CUT else "stop") + DONE)

    def _say(self, **delta: Any) -> None:
        self.wfile.write(chunk(**delta))
        self.wfile.flush()

    def _answer(self, status: int, body: object, headers: dict[str, str]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(raw))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
