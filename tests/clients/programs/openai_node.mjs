// The openai library for Node: Responses, streamed, with a function and a second turn.
import OpenAI from "openai";

const [url, key] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", name: "get_weather", description: "The weather.", parameters, strict: false }];

const stream = await client.responses.create({ model: "demo", input: "How is the weather in Oslo?", tools, stream: true });
let first;
for await (const event of stream) {
  if (event.type === "response.completed") first = event.response;
}
const call = first.output.find((item) => item.type === "function_call");
const output = { type: "function_call_output", call_id: call.call_id, output: `22 degrees for ${call.arguments}` };
const question = { model: "demo", input: [output], previous_response_id: first.id, tools };
const second = await client.responses.stream(question).finalResponse();
console.log(second.output_text);
const third = await client.responses.create({ model: "demo", input: "Thank you.", previous_response_id: second.id });
if (!third.output_text) throw new Error("no answer");
