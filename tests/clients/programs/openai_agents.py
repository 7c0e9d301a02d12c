"""openai-agents: an agent with a function, streamed, and a second question to it."""

import asyncio
import sys

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

URL, KEY = sys.argv[1:]
set_tracing_disabled(True)


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


async def main() -> None:
    model = OpenAIResponsesModel("demo", AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0))
    agent = Agent(name="Forecaster", instructions="Be brief.", model=model, tools=[get_weather])
    streamed = Runner.run_streamed(agent, "How is the weather in Oslo?")
    async for _ in streamed.stream_events():
        pass
    print(streamed.final_output)
    again = await Runner.run(agent, [*streamed.to_input_list(), {"role": "user", "content": "Thank you."}])
    assert again.final_output


asyncio.run(main())
