"""Tool descriptions for the model: a JSON Schema becomes the same text as in openai-harmony, character for character."""

import random
from typing import Any

import pytest

from renderer.harmony.prompt import DeveloperMessage, FunctionTool, Json
from tests.support.cases import example_count

WORDS = ["city", "a b", "null", "é", "line\ntwo", "x\r\ny", "<|end|>", 'say "hi"', "", "\u2028", "\x07\x1f\x7f"]
NUMBERS = [0, -1, 2**53, 2**64 - 1, -(2**63), 1.0, 1e16, 1.5e-7, 1e-5, -2.5e-5, 0.1, 1e22, 3.14, 1e-4, -0.0, 1e15, 1e300]


def of_oracle(oracle: Any, tools: list[FunctionTool]) -> str:
    import openai_harmony as oh

    described = [oh.ToolDescription.new(tool.name, tool.description, parameters=tool.parameters) for tool in tools]
    content = oh.DeveloperContent.new().with_function_tools(described)
    ids = oracle.render(oh.Message.from_role_and_content(oh.Role.DEVELOPER, content))
    text: str = oracle.decode(ids)
    return text.removeprefix("<|start|>developer<|message|>").removesuffix("<|end|>")


def written(parameters: Json) -> str:
    """The type of a function's arguments, as the model reads it."""
    text = DeveloperMessage(functions=[FunctionTool("t", "", parameters)]).text()
    return text.partition("type t = (_: ")[2].removesuffix(") => any;\n\n} // namespace functions")


def written_value(value: object) -> str:
    parameters: Any = {"type": "object", "properties": {"a": {"default": value}}}
    return written(parameters).removeprefix("{\na?: any, // default: ").removesuffix("\n}")


def value(chooser: random.Random, depth: int = 0) -> Any:
    if depth < 2 and chooser.random() < 0.2:
        return [value(chooser, depth + 1) for _ in range(chooser.randrange(3))]
    if depth < 2 and chooser.random() < 0.2:
        return {chooser.choice(WORDS): value(chooser, depth + 1) for _ in range(chooser.randrange(3))}
    return chooser.choice([None, True, False, chooser.choice(WORDS), chooser.choice(NUMBERS)])


def remarks(chooser: random.Random) -> dict[str, Any]:
    """Keywords that a schema may have for a value of any type."""
    parts: dict[str, Any] = {}
    for key in ("description", "default"):
        if chooser.random() < 0.35:
            parts[key] = chooser.choice(WORDS) if chooser.random() < 0.8 else value(chooser)
    if chooser.random() < 0.2:
        parts["enum"] = [value(chooser) for _ in range(chooser.randrange(4))]
    return parts


def schema(chooser: random.Random, depth: int = 0) -> Any:
    """A schema of any kind, some of them nonsense: a tool's author may write what they like."""
    deeper = depth < 4
    parts: dict[str, Any] = {}
    kinds = ["string", "number", "integer", "boolean", "null", "weird", ["string", "null"], ["integer"], [], [3], None]
    kind = chooser.choice([*kinds, "object", "object", "object", "array", "array"] if deeper else kinds)
    if kind is not None:
        parts["type"] = kind
    parts |= remarks(chooser)
    if deeper and chooser.random() < 0.6:
        parts["items"] = schema(chooser, depth + 1)
    if deeper and (kind == "object" or chooser.random() < 0.1):
        properties = {f"{chooser.choice(WORDS)}{number}": schema(chooser, depth + 1) for number in range(chooser.randrange(4))}
        parts["properties"] = properties
        parts["required"] = chooser.choice([[], list(properties)[:1], list(properties), [3], "x"])
    keys = list(parts)
    chooser.shuffle(keys)
    return {key: parts[key] for key in keys}


@pytest.mark.parametrize("part", range(3))
def test_any_tools_are_written_as_openai_harmony_writes_them(part: int, oracle: Any) -> None:
    for seed in range(part * 100, part * 100 + example_count(100)):
        chooser = random.Random(seed)
        tools = [
            FunctionTool(f"tool_{number}", chooser.choice(WORDS), chooser.choice([None, schema(chooser), schema(chooser)]))
            for number in range(chooser.randint(1, 3))
        ]
        assert DeveloperMessage(functions=tools).text() == of_oracle(oracle, tools)


def test_a_schema_that_is_too_deep_ends_in_any() -> None:
    nested: dict[str, Any] = {"type": "string"}
    objects = nested
    for _ in range(5_000):
        nested = {"type": "array", "items": nested}
        objects = {"type": "object", "properties": {"a": objects}}
    assert written(nested) == "any" + "[]" * 101
    assert written(objects).count("a?: ") == 101 and "a?: any,\n" in written(objects)


PROPERTIES: dict[str, tuple[Json, str]] = {
    "no schema": (True, "a?: any,\n"),
    "null": (None, "a?: any,\n"),
    "a list": (["string"], "a?: any,\n"),
    "several types": ({"type": ["integer", 3, "string"]}, "a?: number | string,\n"),
    "no known type": ({"type": [3]}, "a?: any,\n"),
    "an array of words": ({"type": "array", "items": {"type": "string", "enum": ["x"]}}, 'a?: "x"[],\n'),
    "no words": ({"type": "string", "enum": [3]}, "a?: string,\n"),
    "a description of another type": ({"type": "string", "description": ["D"]}, "a?: string,\n"),
    "an object": (
        {"type": "object", "properties": {"b": {"type": "string", "description": "B"}}, "required": ["b", 3], "description": "A"},
        "// A\na?:     // A\n{\n    // B\n    b: string,\n    },\n",
    ),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_is_written_as_openai_harmony_writes_it(name: str, oracle: Any) -> None:
    schema, expected = PROPERTIES[name]
    parameters = {"type": "object", "properties": {"a": schema}}
    assert written(parameters) == f"{{\n{expected}}}"
    tools = [FunctionTool("t", "", parameters)]
    assert of_oracle(oracle, tools) == DeveloperMessage(functions=tools).text(), "so the expectation is right"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"type": "object", "properties": ["a"]}, "{\n}"),
        ({"type": "object", "properties": {"a": {}}, "required": "a"}, "{\na?: any,\n}"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, "{\na: any,\n}"),
        (True, "any"),
    ],
)
def test_parameters_of_any_form_are_written(parameters: Json, expected: str) -> None:
    assert written(parameters) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (2**64, "1.8446744073709552e19"),
        (-(2**63) - 1, "-9.223372036854776e18"),
        (10**308, "1e308"),
        (1 - 2**1024 + 2**970, "-1.7976931348623157e308"),
        (2**1024 - 2**970, "null"),
        (float("nan"), "null"),
        (float("inf"), "null"),
        (float("-inf"), "null"),
    ],
)
def test_an_unusual_number_is_written_as_json_writers_do(number: float, expected: str) -> None:
    assert written_value(number) == expected


def test_a_value_is_written_without_spaces() -> None:
    assert written_value([True, None, "é\n", {"a": 1, "b": [2.5, {}]}, []]) == '[true,null,"é\\n",{"a":1,"b":[2.5,{}]},[]]'
    with pytest.raises(TypeError, match="object is not a JSON value"):
        written_value(object())
