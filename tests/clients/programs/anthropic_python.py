"""The anthropic library for Python: Messages, streamed and whole, with a function and thinking."""

import sys
from typing import Any

import anthropic

URL, KEY = sys.argv[1:]
client: Any = anthropic.Anthropic(base_url=URL.removesuffix("/v1"), api_key=KEY, max_retries=0)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "The weather.", "input_schema": PARAMETERS}
ASKED: dict[str, Any] = {"model": "demo", "max_tokens": 1000, "tools": [WEATHER], "thinking": {"type": "enabled", "budget_tokens": 1024}}


def streamed(messages: list[Any]) -> Any:
    with client.messages.stream(messages=messages, **ASKED) as stream:
        list(stream)
        return stream.get_final_message()


messages: list[Any] = [{"role": "user", "content": "How is the weather in Oslo?"}]
assert client.messages.count_tokens(model="demo", messages=messages, tools=[WEATHER]).input_tokens > 10
first = streamed(messages)
[call] = [block for block in first.content if block.type == "tool_use"]
assert first.stop_reason == "tool_use" and call.input == {"city": "Oslo"}, first
result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "22 degrees"}]}
messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
second = streamed(messages)
assert second.stop_reason == "end_turn" and second.usage.output_tokens > 0
print("".join(block.text for block in second.content if block.type == "text"))
messages += [{"role": "assistant", "content": second.content}, {"role": "user", "content": "Thank you."}]
assert client.messages.create(model="demo", max_tokens=1000, system="Be brief.", messages=messages).content[-1].text
assert "demo" in [model.id for model in client.models.list()]
