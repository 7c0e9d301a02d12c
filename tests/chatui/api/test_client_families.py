"""What client libraries send besides conversations with functions: recorded requests, one table, each of which has to be answered."""

import json
from typing import Any

import pytest

from renderer.frames import Terminator
from tests.chatui.api.asking import IGNORED, Program, whole
from tests.support.places import ROOT
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"
REQUESTS: list[dict[str, Any]] = [
    json.loads(line) for line in (ROOT / "tests/clients/families.jsonl").read_text(encoding="utf-8").splitlines()
]
KNOWN = {"logprobs", "top_logprobs", "thinking.budget_tokens", "cache_control", "tools.web_search_20250305"}


@pytest.mark.parametrize("client", sorted({each["client"] for each in REQUESTS}))
async def test_every_recorded_request_of_a_family_is_answered_without_hidden_text(
    client: str, program: Program, backend: ScriptedBackend
) -> None:
    for sent in (each for each in REQUESTS if each["client"] == client):
        body = {name: value for name, value in sent["body"].items() if (name, value) != ("tool_choice", "required")}  # tested elsewhere
        said = '{"city": "Paris", "n": 3}' if "json_schema" in json.dumps(body) else "It is Paris. Observation: invented"
        backend.script = [*frame(ANALYSIS, f"{SECRET} Observation: </code>"), *frame(FINAL, said, Terminator.RETURN), ended()]
        response = await program.post(sent["path"], body)
        text = (await whole(response)).decode()
        assert response.status_code == 200 and '"error":{' not in text, (body, text)
        assert (
            "Paris" in text
            and "marmalade" not in text
            and ("invented" in text) is ("Paris. " in said and not {"stop", "stop_sequences"} & body.keys())
        ), (
            body,
            text,
        )
        assert set(filter(None, response.headers.get(IGNORED, "").split(", "))) <= KNOWN, body
