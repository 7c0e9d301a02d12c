"""The openai library for Python: Responses and Chat Completions."""

import sys
from typing import Any

import openai

URL, KEY = sys.argv[1:]
client: Any = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
QUESTION = "How is the weather in Oslo?"


def responses() -> str:
    tools = [{"type": "function", "name": "get_weather", "description": "The weather.", "parameters": PARAMETERS, "strict": True}]
    with client.responses.stream(model="demo", input=QUESTION, tools=tools) as stream:
        kinds = [event.type for event in stream]
        first = stream.get_final_response()
    assert "response.function_call_arguments.done" in kinds
    [call] = [item for item in first.output if item.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": f"22 degrees for {call.arguments}"}
    with client.responses.stream(model="demo", input=[output], previous_response_id=first.id, tools=tools) as stream:
        list(stream)
        second = stream.get_final_response()
    third = client.responses.create(model="demo", input="Thank you.", previous_response_id=second.id)
    assert third.output_text
    return str(second.output_text)


def chat() -> str:
    tools = [{"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}}]
    messages = [{"role": "user", "content": QUESTION}]
    with client.chat.completions.stream(model="demo", messages=messages, tools=tools) as stream:
        list(stream)
        message = stream.get_final_completion().choices[0].message
    [call] = message.tool_calls
    messages += [message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "22 degrees"}]
    chunks = client.chat.completions.create(model="demo", messages=messages, tools=tools, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


print(responses())
print(chat())
