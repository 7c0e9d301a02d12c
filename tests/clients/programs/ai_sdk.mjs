// The AI SDK with its provider for Open Responses: streamed, with a function and a second turn.
import { createOpenResponses } from "@ai-sdk/open-responses";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";

const [url, key] = process.argv.slice(2);
const provider = createOpenResponses({ name: "chatui", url: `${url}/responses`, apiKey: key });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = tool({
  description: "The weather.",
  inputSchema: jsonSchema(parameters),
  execute: async ({ city }) => `22 degrees in ${city}`,
});
const messages = [{ role: "user", content: "How is the weather in Oslo?" }];
const first = streamText({ model: provider("demo"), messages, tools: { get_weather: weather }, stopWhen: stepCountIs(3) });
console.log(await first.text);
messages.push(...(await first.response).messages, { role: "user", content: "Thank you." });
const second = streamText({ model: provider("demo"), messages });
if (!(await second.text)) throw new Error("no answer");
