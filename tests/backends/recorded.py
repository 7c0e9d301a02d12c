"""Streams of real servers with a real (tiny) gpt-oss model, and some that were written by hand: what each says, by its name."""

from tests.support.places import RECORDINGS

GREETING = "Hello! How can I help you today?"
REASONING = "The user greets me. I reply briefly and kindly."
PLAN = "**Plan**:\n1. Check the weather in Paris\n2. Pick the sights\n3. Write the itinerary\n\nI start with the weather."
WEEKEND = "**Saturday**: Louvre and a walk along the Seine.\n**Sunday**: Montmartre and a picnic."
ITINERARY = f"**Plan**:\n1. Pick the sights\n2. Write the itinerary{WEEKEND}"
UNKNOWN = "I am a tiny test model and I only know a few prompts."
BICYCLE = "Take the **bicycle**: about 8 minutes and free. Bring a lock."
LITERAL = (
    "A Harmony message looks like this:\n\n<|start|>assistant<|channel|>analysis<|message|>This is only an example, not a real thought."
    "<|end|>\n\nand it stops with <|return|> or <|call|>. These are ordinary characters in my answer."
)
LANGUAGES = (
    "- English: Hello!\n- Español: ¡Hola!\n- 한국어: 안녕하세요!\n- 日本語: こんにちは!\n- 中文: 你好!\n- العربية: مرحبا!\n- हिन्दी: नमस्ते!\n"
    "- ไทย: สวัสดี!\n- Emoji: 👋🏽 👨\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇰🇷\n- Rare: 𠮷野家 ﷽ Ǆ é ñ"
)
PARIS = ("functions.get_weather", '{"location":"Paris","unit":"celsius"}')
TOKYO = ("functions.get_weather", '{"location":"Tokyo","unit":"celsius"}')
SPACED_TOKYO = ("functions.get_weather", '{"location": "Tokyo", "unit": "celsius"}')
FIBONACCI = ("python", "a, b = 0, 1\nfor _ in range(10):\n    a, b = b, a + b\nprint(a)")

Said = tuple[str, str, list[tuple[str, str]]]
"""What people see, the reason of the end or the code of the error, and the calls."""
CHAT: dict[str, Said] = {
    "llamacpp/x-chat-greet.sse": (GREETING, "stop", []),
    "llamacpp/x-chat-badheader.sse": ("", "E-X-BACKEND", []),
    "llamacpp/x-chat-trip-preamble-notools.sse": (ITINERARY, "stop", []),
    "llamacpp/x-chat-trip-preamble-tool.sse": (PLAN, "tool_calls", [PARIS]),
    "llamacpp/x-chat-trip-reasoning-format-none.sse": (ITINERARY, "stop", []),
    "llamacpp/x-chat-weather-tool.sse": ("", "tool_calls", [TOKYO]),
    "vllm/v-chat-greet.sse": (GREETING, "stop", []),
    "vllm/v-chat-badheader.sse": ("", "stop", []),
    "vllm/v-chat-browser.sse": ("", "stop", []),
    "vllm/v-chat-literal.sse": (LITERAL, "stop", []),
    "vllm/v-chat-long-cut-in-analysis.sse": ("", "length", []),
    "vllm/v-chat-ping.sse": ("pong", "stop", []),
    "vllm/v-chat-python.sse": ("", "stop", []),
    "vllm/v-chat-trip-preamble-notools.sse": (ITINERARY, "stop", []),
    "vllm/v-chat-trip-preamble-tool.sse": (PLAN, "tool_calls", [PARIS]),
    "vllm/v-chat-unknown.sse": (UNKNOWN, "stop", []),
    "vllm/v-chat-weather-tool.sse": ("", "tool_calls", [TOKYO]),
    "vllm/v-chat-weather-after-tool.sse": ("It is **20 °C** and sunny in Tokyo right now.", "stop", []),
    "transformers/t-chat-greet.sse": (GREETING, "stop", []),
    "transformers/t-chat-literal.sse": ("", "stop", []),
    "transformers/t-chat-python.sse": ("", "stop", []),
    "transformers/t-chat-trip-preamble-tool.sse": ("", "stop", []),
    "transformers/t-chat-long-cut-in-analysis.sse": ("", "length", []),
    "transformers/tt-chat-greet.sse": (GREETING, "stop", []),
    "synthetic/synth_30_chat_harmony_tokens_leak.txt": ("Hello", "stop", []),
    "synthetic/synth_33_chat_both_reasoning_fields.txt": ("Hello", "stop", []),
    "synthetic/synth_34_chat_eof_without_done.txt": ("Half", "E-STREAM-TRUNCATED", []),
    "synthetic/synth_36_chat_parallel_tool_calls.txt": ("", "tool_calls", [("functions.a", '{"x":1}'), ("functions.b", "{}")]),
}
RESPONSES: dict[str, Said] = {
    "gptoss-reference-badheader.sse": ("", "E-STREAM-TRUNCATED", []),
    "gptoss-reference-cut.sse": ("", "length", []),
    "gptoss-reference-greet.sse": (GREETING, "stop", []),
    "gptoss-reference-literal.sse": (LITERAL, "stop", []),
    "gptoss-reference-python.sse": ("", "stop", []),
    "gptoss-reference-trip-preamble-tool.sse": ("", "tool_calls", [PARIS]),
    "gptoss-reference-weather-tool.sse": ("", "tool_calls", [TOKYO]),
    "llamacpp-badheader.sse": ("", "E-X-BACKEND", []),
    "llamacpp-cut.sse": ("", "length", []),
    "llamacpp-greet.sse": (GREETING, "stop", []),
    "llamacpp-trip-preamble-notools.sse": (ITINERARY, "stop", []),
    "llamacpp-trip-preamble-tool.sse": (PLAN, "tool_calls", [PARIS]),
    "llamacpp-weather-tool.sse": ("", "tool_calls", [TOKYO]),
    "transformers-cut.sse": ("", "length", []),
    "transformers-greet.sse": (GREETING, "stop", []),
    "transformers-trip-preamble-notools.sse": (WEEKEND, "stop", []),
    "transformers-weather-tool.sse": ("", "stop", []),
    "transformers-template-cut.sse": ("", "length", []),
    "transformers-template-greet.sse": (GREETING, "stop", []),
    "transformers-template-weather-tool.sse": ("", "tool_calls", [SPACED_TOKYO]),
    "vllm-badheader.sse": ("", "stop", []),
    "vllm-browser.sse": ("", "stop", []),
    "vllm-cut.sse": ("", "length", []),
    "vllm-greet.sse": (GREETING, "stop", []),
    "vllm-literal.sse": (LITERAL, "stop", []),
    "vllm-longthink.sse": (BICYCLE, "stop", []),
    "vllm-python.sse": ("", "stop", []),
    "vllm-trip-preamble-notools.sse": (ITINERARY.replace("itinerary**", "itinerary\n\n**"), "stop", []),  # two messages
    "vllm-trip-preamble-tool.sse": (PLAN, "tool_calls", [PARIS]),
    "vllm-unknown.sse": (UNKNOWN, "stop", []),
    "vllm-weather-tool.sse": ("", "tool_calls", [TOKYO]),
    "synth_01_openresponses_reasoning_events_spec_order.txt": ("It is 4.", "stop", []),
    "synth_02_llamacpp_style_no_indices.txt": ("Hello", "tool_calls", [("functions.get_weather", '{"a":1}')]),
    "synth_04_refusal.txt": ("I can't help with that.", "refusal", []),
    "synth_06_flat_error_then_failed.txt": ("Par", "E-X-BACKEND", []),
    "synth_08_eof_without_terminal_event.txt": ("Half an ans", "E-STREAM-TRUNCATED", []),
    "synth_10_sse_framing_torture.txt": ("Grüße 👋", "stop", []),
    "synth_13_phase_commentary_then_call.txt": (
        "Let me check the weather.",
        "tool_calls",
        [("functions.get_weather", '{"city":"Paris"}')],
    ),
    "synth_14_completed_event_with_incomplete_status.txt": ("Once upon a", "length", []),
}
CUT_BEFORE_PROOF = tuple(f"synth_{name}.txt" for name in (
    "06_flat_error_then_failed", "08_eof_without_terminal_event", "14_completed_event_with_incomplete_status",
))  # fmt: skip
"""Answers that were cut, of servers that did not show by reasoning that they separate it."""
TOKEN_IDS: dict[str, Said] = {
    "llamacpp/x-raw-completion-greet.sse": (GREETING, "stop", []),
    "llamacpp/x-raw-completion-langs.sse": (LANGUAGES, "stop", []),
    "llamacpp/x-raw-completion-trip.sse": (PLAN, "tool_calls", [PARIS]),
    "llamacpp/x-raw-completion-badheader.sse": ("Recovered.", "stop", []),
    "vllm/v-raw-completions-greet.sse": (GREETING, "stop", []),
    "vllm/v-raw-completions-langs.sse": (LANGUAGES, "stop", []),
    "vllm/v-raw-completions-literal.sse": (LITERAL, "stop", []),
    "vllm/v-raw-completions-trip.sse": (PLAN, "tool_calls", [PARIS]),
    "vllm/v-raw-completions-weather.sse": ("", "tool_calls", [TOKYO]),
    "vllm/v-raw-completions-python.sse": ("", "tool_calls", [FIBONACCI]),
    "vllm/v-raw-completions-badheader.sse": ("Recovered.", "stop", []),
}
IN_ONE_PIECE = ("llamacpp/x-raw-completion-greet-nostream.json", "vllm/v-raw-completions-greet-nostream.json")


def recorded(name: str) -> bytes:
    """The raw bytes; streams that were written by hand begin with two comment lines about their origin."""
    return (RECORDINGS / name).read_bytes()
