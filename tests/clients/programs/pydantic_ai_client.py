"""pydantic-ai over Responses: an agent with a function, streamed, and a second turn."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

URL, KEY = sys.argv[1:]
agent = Agent(OpenAIResponsesModel("demo", provider=OpenAIProvider(base_url=URL, api_key=KEY)), instructions="Be brief.")


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


async def main() -> None:
    async with agent.run_stream("How is the weather in Oslo?") as streamed:
        print(await streamed.get_output())
    again = await agent.run("Thank you.", message_history=streamed.all_messages())
    assert again.output


asyncio.run(main())
