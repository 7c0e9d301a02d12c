"""Schemas as tool servers, OpenAPI documents and libraries write them, each with a call that is right, and perhaps one that is not."""

from typing import Any, NamedTuple

STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


class SchemaCase(NamedTuple):
    """``refused``: a word of the reason, if a tool with this schema cannot be offered."""

    schema: Any
    right: Any = None
    wrong: Any = None
    refused: str = ""


def of(required: str = "", /, **properties: Any) -> dict[str, Any]:
    needed = {"required": required.split()} if required else {}
    return {"type": "object", "properties": properties, **needed}


def nested(levels: int) -> Any:
    return of(a=nested(levels - 1)) if levels else STRING


def value_of(levels: int) -> Any:
    return {"a": value_of(levels - 1)} if levels else "x"


A, B = of("a", a=STRING), of("b", b=INTEGER)
TREE = {"$defs": {"n": of(v=STRING, c={"type": "array", "items": {"$ref": "#/$defs/n"}})}}
ADDRESS = of("city", city=STRING, zip={"type": ["string", "null"]})
ZONES = [f"Area/City{number}" for number in range(300)]

OTHER_DIALECTS = {
    "null by nullable", "null by nullable enum", "nullable beside allOf", "a tuple of draft 4", "a bound of draft 4", "an unknown type",
}  # fmt: skip
"""Those that JSON Schema 2020-12 does not read."""

CASES: dict[str, SchemaCase] = {
    # null
    "null by list": SchemaCase(of(a={"type": ["string", "null"]}), {"a": None}, {"a": 1}),
    "null by anyOf": SchemaCase(of("a", a={"anyOf": [INTEGER, NULL], "default": None}), {"a": None}, {"a": "x"}),
    "null by oneOf": SchemaCase(of("a", a={"oneOf": [NULL, STRING]}), {"a": None}, {"a": 1}),
    "null by nullable": SchemaCase(of(a={"type": "string", "nullable": True}), {"a": None}, {"a": 1}),
    "null by enum": SchemaCase(of(a={"enum": ["x", None]}), {"a": None}, {"a": "y"}),
    "null by nullable enum": SchemaCase(of(a={"type": "string", "enum": ["x"], "nullable": True}), {"a": None}, {"a": "y"}),
    "null by const": SchemaCase(of("a", a={"anyOf": [{"const": None}, STRING]}), {"a": None}, {"a": 1}),
    "null object": SchemaCase(of("a", a={"anyOf": [ADDRESS, NULL]}), {"a": None}, {"a": {"zip": "1"}}),
    "null list": SchemaCase(of("a", a={"anyOf": [{"type": "array", "items": STRING}, NULL]}), {"a": None}, {"a": [1]}),
    "null below": SchemaCase(of(a=ADDRESS), {"a": {"city": "x", "zip": None}}, {"a": {"city": None}}),
    "null in a list": SchemaCase(of(a={"type": "array", "items": {"type": ["integer", "null"]}}), {"a": [1, None]}, {"a": ["x"]}),
    "null by reference": SchemaCase({**of(a={"anyOf": [{"$ref": "#/$defs/x"}, NULL]}), "$defs": {"x": ADDRESS}}, {"a": None}, {"a": 1}),
    "nullable beside allOf": SchemaCase(
        {**of(a={"nullable": True, "allOf": [{"$ref": "#/$defs/x"}]}), "$defs": {"x": ADDRESS}}, {"a": None}, {"a": 1}
    ),
    "null of several": SchemaCase(of(a={"type": ["string", "integer", "null"]}), {"a": None}, {"a": []}),
    "only null": SchemaCase(of("a", a=NULL), {"a": None}, {"a": 1}),
    # the top
    "top reference": SchemaCase({"$ref": "#/definitions/Args", "definitions": {"Args": A}}, {"a": "x"}, {"b": 1}),
    "top reference, then another": SchemaCase({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": A}}, {"a": "x"}, {}),
    "top allOf": SchemaCase({"allOf": [A, B]}, {"a": "x", "b": 1}, {"a": "x"}),
    "top allOf with references": SchemaCase({"allOf": [{"$ref": "#/$defs/x"}, B], "$defs": {"x": A}}, {"a": "x", "b": 1}, {"b": 1}),
    "top anyOf": SchemaCase({"type": "object", "anyOf": [A, B]}, {"a": "x"}, {}),
    "top oneOf": SchemaCase({"oneOf": [A, B]}, {"b": 1}, {"b": "x"}),
    "top oneOf, the other": SchemaCase({"oneOf": [A, B]}, {"a": "x"}, {"c": 1}),
    "top oneOf of one": SchemaCase({"oneOf": [A]}, {"a": "x"}, {}),
    "top oneOf of references": SchemaCase(
        {"oneOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}], "$defs": {"x": A, "y": B}}, {"b": 1}, {}
    ),
    "top anyOf of required": SchemaCase({**of(a=STRING, b=STRING), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": "x"}, {}),
    "top anyOf beside properties": SchemaCase({**of("c", c=STRING), "anyOf": [A, B]}, {"c": "x", "b": 1}, {"c": "x"}),
    "top anyOf with null": SchemaCase({"anyOf": [A, NULL]}, {"a": "x"}, {"b": 1}),
    "top anyOf in allOf": SchemaCase({"allOf": [of(c=STRING), {"anyOf": [A, B]}]}, {"a": "x"}, {"d": 1}),
    "top kinds by const": SchemaCase(
        {"oneOf": [of("k a", k={"const": "one"}, a=STRING), of("k b", k={"const": "two"}, b=INTEGER)]}, {"k": "two", "b": 1}, {"k": "three"}
    ),
    "top without type": SchemaCase({"properties": {"a": STRING}}, {"a": "x"}, {"a": 1}),
    "top by list of types": SchemaCase({"type": ["object", "null"], "properties": {"a": STRING}}, {"a": "x"}, {"a": 1}),
    "top with conditions": SchemaCase(
        {**of(a=STRING), "if": of(a={"const": "x"}), "then": {"properties": {"b": STRING}}}, {"a": "x", "b": "y"}, {"a": 1}
    ),
    "top with dependent schemas": SchemaCase({**of(a=STRING), "dependentSchemas": {"a": of(c=STRING)}}, {"a": "x", "c": "y"}, {"c": 1}),
    "top open": SchemaCase({"type": "object", "additionalProperties": True}, {"anything": [1]}),
    "top open beside properties": SchemaCase({**of(a=STRING), "additionalProperties": True}, {"a": "x", "more": 1}, {"a": 1}),
    "top open for a type": SchemaCase({"type": "object", "additionalProperties": STRING}, {"x": "y"}, {"x": 1}),
    "top open by pattern": SchemaCase({"type": "object", "patternProperties": {"^x-": STRING}}, {"x-a": "y"}, {"x-a": 1}),
    "no arguments": SchemaCase({"type": "object"}, {}, {"a": 1}),
    "nothing said": SchemaCase({}, {}, {"a": 1}),
    # names
    "a dash": SchemaCase(of("created-after", **{"created-after": STRING}), {"created_after": "x"}, {"created_after": 1}),
    "a dash below": SchemaCase(of(f=of("created-after", **{"created-after": STRING})), {"f": {"created-after": "x"}}, {"f": {}}),
    "a dot below": SchemaCase(of(f=of(**{"at.before": STRING})), {"f": {"at.before": "x"}}, {"f": {"at_before": "x"}}),
    "a dollar": SchemaCase(of(**{"$top": INTEGER}), {"top": 1}, {"top": "x"}),
    "a dollar below": SchemaCase(of(f=of(**{"$eq": INTEGER})), {"f": {"$eq": 1}}, {"f": {"$eq": "x"}}),
    "an at in a list": SchemaCase(
        of(l={"type": "array", "items": of(**{"@type": STRING})}), {"l": [{"@type": "x"}]}, {"l": [{"@type": 1}]}
    ),
    "two names that are one": SchemaCase(of(**{"a-b": STRING, "a_b": INTEGER}), {"a_b": "x"}, {"a_b": 1}),
    "another script": SchemaCase(of(f=of(ключ=STRING)), {"f": {"ключ": "x"}}, {"f": {"ключ": 1}}),
    # choices
    "many choices": SchemaCase(of(z={"type": "string", "enum": ZONES}), {"z": "Area/City250"}, {"z": "Nowhere"}),
    "choices with quotes": SchemaCase(of(a={"enum": ['a "b"', "c"]}), {"a": "c"}, {"a": "d"}),
    "choices of several types": SchemaCase(of(a={"enum": [1, "auto", True]}), {"a": "auto"}, {"a": "x"}),
    "choices by const": SchemaCase(of(a={"oneOf": [{"const": "x", "title": "X"}, {"const": "y"}]}), {"a": "y"}, {"a": "z"}),
    "choices that are lists": SchemaCase(of(a={"enum": [[1, 2], [3]]}), {"a": [3]}, {"a": [4]}),
    # parts
    "properties beside a reference": SchemaCase(
        {**of(o={"$ref": "#/$defs/x", "properties": {"b": INTEGER}}), "$defs": {"x": A}}, {"o": {"a": "x", "b": 1}}, {"o": {"b": 1}}
    ),
    "allOf beside a reference": SchemaCase(
        {"$ref": "#/$defs/x", "allOf": [B], "$defs": {"x": {"allOf": [A]}}}, {"a": "x", "b": 1}, {"b": 1}
    ),
    "alternatives twice": SchemaCase(
        {"allOf": [{"oneOf": [A, B]}, {"oneOf": [of("c", c=STRING), of("d", d=STRING)]}]}, {"a": "x", "d": "y"}, {"a": 1, "d": "y"}
    ),
    "alternatives three times": SchemaCase(
        {"allOf": [{"oneOf": [A, B]}, {"oneOf": [of(c=STRING)]}, {"oneOf": [of("d", d=STRING)]}]}, {"a": "x", "d": "y"}, {"a": "x", "d": 1}
    ),
    "a condition by reference": SchemaCase(
        {**of(a=STRING), "if": of(a={"const": "x"}), "then": {"$ref": "#/$defs/b"}, "$defs": {"b": B}}, {"a": "x", "b": 1}, {"a": 1}
    ),
    "alternatives of which one is anything": SchemaCase({"anyOf": [A, True]}, {"z": 1}),
    "alternatives of which one is empty": SchemaCase({**of(c=STRING), "oneOf": [A, {}]}, {"z": 1}, {"c": 1}),
    "unevaluated properties": SchemaCase({**of(a=STRING), "unevaluatedProperties": True}, {"z": 1}, {"a": 1}),
    "a recursion": SchemaCase({**TREE, **of(t={"$ref": "#/$defs/n"})}, {"t": {"v": "x", "c": [{"v": "y", "c": []}]}}, {"t": {"v": 1}}),
    "a recursive whole": SchemaCase(of(v=STRING, more={"$ref": "#"}), {"more": {"more": {"v": "x"}}}, {"v": 1}),
    "an allOf below": SchemaCase(of(o={"allOf": [A, B]}), {"o": {"a": "x", "b": 1}}, {"o": {"a": "x"}}),
    "alternatives beside properties": SchemaCase(
        of(o={**of(a=STRING, b=STRING), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), {"o": {"a": "x"}}, {"o": {"c": "x"}}
    ),
    "many alternatives": SchemaCase(of(a={"anyOf": [{"const": number} for number in range(21)]}), {"a": 20}, {"a": 21}),
    "fifteen levels": SchemaCase(nested(15), value_of(15)),
    "a tuple": SchemaCase(of(a={"type": "array", "prefixItems": [INTEGER, STRING], "items": False}), {"a": [1, "x"]}, {"a": ["x", 1]}),
    "a tuple of draft 4": SchemaCase(of(a={"type": "array", "items": [INTEGER, STRING]}), {"a": [1, "x"]}, {"a": ["x"]}),
    "a list without items": SchemaCase(of(a={"type": "array"}), {"a": [1, "x"]}, {"a": "x"}),
    "a pattern": SchemaCase(of(a={"type": "string", "pattern": "^CA[0-9a-f]{4}$"}), {"a": "CA01ab"}, {"a": "x"}),
    "a pattern that looks ahead": SchemaCase(of(a={"type": "string", "pattern": "^(?!x)"}), {"a": "y"}, {"a": 1}),
    "a pattern that takes for ever": SchemaCase(of(a={"type": "string", "pattern": "^(a+)+$"}), {"a": "aaa"}, {"a": "a" * 99 + "b"}),
    "a bound of draft 4": SchemaCase(of(a={"type": "number", "minimum": 0, "exclusiveMinimum": True}), {"a": 1}, {"a": "x"}),
    "a reference with escapes": SchemaCase({**of(a={"$ref": "#/$defs/a%20b~1c"}), "$defs": {"a b/c": STRING}}, {"a": "x"}, {"a": 1}),
    "a reference by its own id": SchemaCase(
        {"$id": "https://e.com/s", **of(a={"$ref": "https://e.com/s#/$defs/x"}), "$defs": {"x": STRING}}, {"a": "x"}, {"a": 1}
    ),
    "any value": SchemaCase(of(a=True, b={}), {"a": [1], "b": {"x": 1}}),
    "an unknown type": SchemaCase(of(a={"type": "any"}), {"a": 1}),
    # those that cannot be carried
    "another document": SchemaCase(of(a={"$ref": "other.json#/x"}), refused="another document"),
    "no such definition": SchemaCase(of(a={"$ref": "#/$defs/x"}), refused="does not exist"),
    "no schema": SchemaCase(of(a=3), refused="not an object"),
    "a required name that ends the definition": SchemaCase(of(o=of("a}", **{"a}": STRING})), refused="name"),
}  # fmt: skip
