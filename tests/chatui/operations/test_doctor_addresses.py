"""``manage.py doctor`` examines each address of a model server, over the route that questions use."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chatui.operations.doctor.peers import chat_answers, peer
from tests.chatui.operations.test_doctor import LEAKY, run
from tests.chatui.operations.test_doctor import environment as environment
from tests.support.served import free_port

pytestmark = [pytest.mark.served, pytest.mark.django_db]


def set_up(environment: dict[str, Any], place: Path, lines: str) -> None:
    environment["backends_file"] = place / "backends.toml"
    environment["backends_file"].write_text(f'[[backend]]\nname = "main"\n{lines}\n')


def unused() -> str:
    return f"http://127.0.0.1:{free_port()}"


async def test_each_address_is_examined_and_the_worst_counts(environment: dict[str, Any], tmp_path: Path) -> None:
    async with peer(chat_answers()) as good, peer(LEAKY) as bad:
        dead = unused()
        set_up(environment, tmp_path, f'kind = "chat"\nurl = "{dead}"\nmore_urls = ["{good.url}", "{bad.url}"]')
        code, output, _ = await run("--json")
        report = json.loads(output)["backends"]
        places = [url.removeprefix("http://") for url in (dead, good.url, bad.url)]
        assert [(one["name"], one["place"], one["address"], one["exit"]) for one in report] == [
            ("main", places[0], [1, 3], 2),
            ("main", places[1], [2, 3], 0),
            ("main", places[2], [3, 3], 3),
        ]
        assert code == 3
        _, output, _ = await run("main")
        heads = [line for line in output.splitlines() if line.startswith("main, ")]
        assert [line.partition(":")[0] for line in heads] == [f"main, address {number} of 3" for number in (1, 2, 3)]
        assert [line.rpartition(" ")[2] for line in heads] == places


async def test_questions_use_the_configured_route(environment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-7261")
    async with peer(chat_answers()) as server:
        set_up(environment, tmp_path, f'kind = "chat"\nurl = "{server.url}"\nkey_env = "THE_KEY"\nkey_header = "api-key"')
        code, _, _ = await run()
    questions = [request for request in server.requests if request.method == "POST"]
    assert code == 0 and questions
    assert all(request.headers.get("api-key") == "sk-7261" and "authorization" not in request.headers for request in questions)
