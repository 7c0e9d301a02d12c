"""The API's OpenAPI description covers every path, method and field, and needs no key."""

import json
from typing import Any

import jsonschema
import pytest
import pytest_django
from django.test import Client

from chatui.api.documentation import BODIES
from chatui.models.user import User
from tests.chatui.api.asking import api_patterns
from tests.chatui.conftest import signed_in
from tests.support.limits import limit

RAW_REASONING_FIELDS = limit("chatui.api", "RAW_REASONING_FIELDS")

pytestmark = pytest.mark.django_db


def described() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Client().get("/v1/openapi.json").content)
    return found


def test_every_address_with_every_method_and_field_is_described() -> None:
    found = described()
    documented = {(path, method) for path, operations in found["paths"].items() for method in operations}
    assert ("/responses/{answer_id}", "delete") in documented and ("/chat/completions", "post") in documented
    methods: list[int] = [len(pattern.callback.handlers) for pattern in api_patterns()]
    assert len(documented) == sum(methods)
    for operations in found["paths"].values():
        assert all(operation["summary"] for operation in operations.values())
    schemas = found["components"]["schemas"]
    for model in BODIES.values():
        fields = model.names() if hasattr(model, "names") else {field.alias or name for name, field in model.model_fields.items()}
        described_fields = set(schemas[model.__name__]["properties"])
        assert described_fields <= fields and not described_fields & {"asks_for_reasoning", "ignored"}
        assert fields - described_fields <= RAW_REASONING_FIELDS.keys()


def test_what_is_streamed_may_be_whole_as_well() -> None:
    paths = described()["paths"]
    for path, method in (("/responses", "post"), ("/chat/completions", "post"), ("/messages", "post"), ("/responses/{answer_id}", "get")):
        assert set(paths[path][method]["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}


def test_the_described_requests_are_valid() -> None:
    schemas = described()["components"]["schemas"]
    root = {"components": {"schemas": schemas}, "$ref": "#/components/schemas/ResponsesRequest"}
    jsonschema.Draft202012Validator.check_schema(root)
    jsonschema.validate({"model": "", "input": "?", "reasoning": {"effort": "high"}}, root)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"model": "", "input": "?", "temperature": 9}, root)


def test_it_is_public_unless_the_api_is_off(settings: pytest_django.Settings) -> None:
    assert json.loads(Client().get("/v1/openapi.json").content)["openapi"] == "3.1.0"
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"api": False})
    assert Client().get("/v1/openapi.json").status_code == 404


def test_signed_in_people_see_it_on_a_page(ada: User, settings: pytest_django.Settings) -> None:
    page = signed_in(ada).get("/keys/api/").content.decode()
    for text in ("/responses/{answer_id}/input_items", "max_output_tokens", "reference-key", "openapi.json"):
        assert text in page
    assert Client().get("/keys/api/").status_code == 302 and "/keys/api/" in signed_in(ada).get("/keys/").content.decode()
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"api": False})
    assert signed_in(ada).get("/keys/api/").status_code == 404
