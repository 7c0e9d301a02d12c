"""langchain-openai over Responses: a bound function, streamed, and a second turn."""

import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

URL, KEY = sys.argv[1:]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


model = ChatOpenAI(model="demo", base_url=URL, api_key=KEY, use_responses_api=True, max_retries=0).bind_tools([get_weather])
messages = [HumanMessage("How is the weather in Oslo?")]
chunks = list(model.stream(messages))
answer = chunks[0]
for chunk in chunks[1:]:
    answer += chunk
[call] = answer.tool_calls
messages += [answer, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])]
final = model.invoke(messages)
print(final.text if isinstance(final.text, str) else final.text())
messages += [final, HumanMessage("Thank you.")]
assert list(model.stream(messages))
