"""Harmless answers about markers, tags, prompts and code: hand-written in several languages, and generated from a seed."""

import random
from collections.abc import Iterator

from tests.chatui.backends.honest_labels import LABELS

BY_HAND = [
    # Prose about tags
    "DeepSeek-R1 puts its reasoning between <think> and </think> tags, and the answer behind them.",
    "Use `<think>` to begin and `</think>` to end.",
    'The template opens a "<think>" block by itself, which is why only the closing "</think>" is in the output.',
    "Models of this family emit a <think> tag first. Strip everything up to </think>.",
    "Qwen3 lets you switch thinking off; then the <think> block is empty.",
    "If you see **<think>** in the output, your server has no reasoning parser.",
    "The <thinking> element was used in early prompts (see the docs), as was <scratchpad>.",
    "Wrap your reasoning in <reasoning> tags and your answer in <answer> tags.",
    "Magistral uses [THINK] and [/THINK] as special tokens, not <think>.",
    "- <think>: begins the reasoning\n- </think>: ends it\n",
    "| token | meaning |\n| --- | --- |\n| <think> | begins reasoning |\n| </think> | ends it |\n",
    "Kimi's markers look like this: `◁think▷` and `◁/think▷`.",
    "There are two tags: `<think>` and `</think>`. Neither is part of the answer.",
    'The regular expression `r"<think>.*?</think>"` removes it.',
    "Does your log contain the string '</think>'? Then the parser is off.",
    "What is left behind the closing tag </think> is the answer.",
    "Everything up to the tag </think>, that tag included, is thrown away.",
    'In the chat template you find `{{ "<think>\\n" }}` at the end.',
    "Cohere's tokens are `<|START_THINKING|>` and `<|END_THINKING|>`.",
    "Seed-OSS writes `<seed:think>` instead of `<think>`.",
    'Open WebUI wraps it as `<details type="reasoning">` and folds it.',
    "Write <b>bold</b> or <details><summary>More</summary>text</details>.",
    "<details>\n<summary>Solution</summary>\n\nThe answer is 42.\n\n</details>\n\nNow try the next one.",
    "<details><summary>Click to expand</summary>\nHidden content\n</details>\n",
    # Prose about Harmony and other templates
    "Harmony has five roles. A header ends with <|message|> and a message with <|end|>.",
    "The tokens <|start|>, <|end|>, <|message|>, <|channel|>, <|constrain|>, <|return|> and <|call|> are special.",
    "A turn ends with <|return|> or, where a tool is called, with <|call|>.",
    "`<|start|>assistant<|channel|>analysis<|message|>` opens a thought.",
    "A message looks like `<|start|>user<|message|>Hi<|end|>`.",
    "Replace <|return|> by <|end|> when you store the conversation.",
    "The stop token is <|return|>; it is never shown.",
    "Llama 3 uses <|eot_id|> to end a turn and <|begin_of_text|> to begin.",
    "ChatML writes `<|im_start|>user` and `<|im_end|>`.",
    "DeepSeek's separators are `<｜User｜>` and `<｜Assistant｜>`, with full-width bars.",
    'The header "<|start|>assistant<|channel|>final<|message|>" precedes the answer.',
    "A Harmony message: <|start|>assistant<|channel|>analysis<|message|>x<|end|> and so on.",
    "A Harmony message looks like this:\n\n<|start|>assistant<|channel|>analysis<|message|>An example.<|end|>\n\nand it ends.",
    "Show <|start|>assistant<|channel|>analysis<|message|> to me.",
    "The analysis channel is private, commentary is for tools, and final is what people read.",
    "analysis of the data shows that sales grew.",
    "commentary on the text is welcome",
    "assistant professors earn less",
    "In analysis we trust; the assistant final draft is due.",
    'Strip the string "assistantfinal" that is left when special tokens are skipped.',
    "The signature `assistantfinal` shows that the markers were stripped.",
    "If the output contains the word assistantfinal, your server skips special tokens.",
    "the assistant finally answered, and the assistants analysed it",
    "to be or not to be",
    "final words are hard",
    # Other languages
    "DeepSeek schreibt sein Nachdenken zwischen <think> und </think>-Tags.",
    "Das Tag <think> steht am Anfang, und </think> beendet es.",
    "Die Marken „<think>“ und „</think>“ gehören nicht zur Antwort.",
    "Le modèle écrit son raisonnement entre les balises <think> et </think>.",
    "La balise « <think> » ouvre le raisonnement.",
    "El modelo razona entre las etiquetas <think> y </think>.",
    "La etiqueta <think> abre el bloque de razonamiento.",
    "Модель пишет рассуждения между тегами <think> и </think>.",
    "Тег <think> открывает блок.",
    "模型的推理放在<think>和</think>标签之间。",
    "请使用`<think>`标签。",
    "推論は「<think>」と「</think>」の間に書かれます。",
    "この<think>タグは使わず、答えだけを書いてください。",
    "추론은 `<think>`와 `</think>` 사이에 들어갑니다.",
    "Il modello ragiona tra `<think>` e `</think>`.",
    "Modelen tänker mellan `<think>` och `</think>`.",
    # Code
    "```python\nimport re\n\nanswer = re.sub(r'<think>.*?</think>', '', text, flags=re.DOTALL)\n```\n",
    "```jinja\n{%- if add_generation_prompt %}<|start|>assistant{% endif %}\n```\n",
    "```\n<|start|>system<|message|>You are a model.<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant\n```\nThat is a prompt.",
    "~~~text\n<|channel|>analysis<|message|>Thinking.<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>\n~~~\n",
    "1. Look at this:\n\n   ```xml\n   <analysis>\n     <step>1</step>\n   </analysis>\n   ```\n2. Then go on.",
    "Here it is:\n\n    <think>\n    The user wants a joke.\n    </think>\n\nand so on.",
    "````md\n```\n<think>\n```\n````\nNested fences.",
    "```ts\nconst OPEN = '<think>', CLOSE = '</think>';\nif (buffer.includes(CLOSE)) flush();\n```\n",
    "Use ``<think>`` in double backticks, or `` ` `` for a backtick.",
    "In F#, `x |> f` pipes, and `f <| x` pipes back; a <| b is the same.",
    "a < b and c |> d",
    "if (a<b && c>d) return a<|b;",
    "x <- 3; y <<- 4; z |> print()",
    "Vec<Option<T>> is a type.",
    "The generic `Option<Thought>` is fine.",
    "```xml\n<prompt>\n  <thinking>Reason step by step.</thinking>\n  <answer/>\n</prompt>\n```\n",
    '```html\n<details type="reasoning">\n  <summary>Thought</summary>\n</details>\n```\n',
    "```log\n2026-01-01 12:00:00 ERROR unexpected token <|channel|> at 17\n2026-01-01 12:00:01 INFO content='<think>'\n```\n",
    "The log says: `unexpected tokens remaining in message header: ['<|channel|>']`.",
    '```yaml\nstop: ["<|end|>", "<|return|>", "<|call|>"]\n```\n',
    '```json\n{"content": "<think>Hmm</think>Hello"}\n```\n',
    "Escape it as `&lt;think&gt;`, or as `\\<think\\>` in Markdown.",
    'HTML: `<div class="thought">`, `<p>`, `<end>`, `<start>`.',
    "<div>\n<p>Plain HTML outside a block</p>\n</div>\n",
    "The tag `<channel>` of RSS holds `<item>` elements.",
    "<rss><channel><title>News</title></channel></rss>",
    "Press [Enter] or [Esc] to go on.",
    "See [the docs](https://example.org/think) and [analysis](#analysis).",
    "Emoji: 👨\u200d👩\u200d👧\u200d👦 and a no\u200bbreak.",
    "Text with `unclosed backtick and <b>bold</b>\n\nNext paragraph.",
    "The arrow -> and <- and <= and >= and <> and </> are operators.",
    "f",
    "ana",
    " \n  indented",
    "",
    "assistant",
    "<",
    "a <",
    "end|",
    "the end | of",
    "start|stop",
]

_NOUNS = ["tag", "token", "marker", "block", "element"]
_PRODUCTS = ["vLLM", "llama.cpp", "Ollama", "SGLang", "LiteLLM", "the parser", "your proxy", "this model"]
_TAGS = ["<think>", "<thinking>", "<reasoning>", "[THINK]", "◁think▷", "<seed:think>", "<|START_THINKING|>", "<analysis>", "<scratchpad>"]
_TOKENS = ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>", "<|im_start|>", "<|im_end|>", "<|eot_id|>"]
_HEADERS = [
    "<|start|>assistant<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>commentary to=functions.x <|constrain|>json<|message|>",
]
_FILLER = [
    "That is all there is to it.",
    "Check the version first: older ones behave differently.",
    "Here is a **list**:\n\n- one\n- two\n- three",
    "The value of `x` is *not* kept between calls.",
    "```python\nfor i in range(3):\n    print(i < 2, i > 1)\n```",
    "> A quotation, with a | in it.",
    'It\'s what people call the "final" answer.',
]


def _about_tags(chance: random.Random) -> str:
    tag, noun, product = chance.choice(_TAGS), chance.choice(_NOUNS), chance.choice(_PRODUCTS)
    closing = _closing(tag)
    return chance.choice(
        [
            f"{product} looks for the {tag} {noun} at the beginning.",
            f"Set a stop string of `{closing}` where {product} forgets it.",
            f"Between `{tag}` and `{closing}` stands what nobody should read.",
            f'Search the output for "{tag}" and for "{closing}".',
            f"The {noun} {tag} is kept by {product}, the {noun} {closing} is not.",
            f"With {product}, put {tag} and {closing} {noun}s around it.",
            f"```\n{tag}\nThe user wants to know.\n{closing}\nHello!\n```",
            f"Example:\n\n    {tag}Hm.{closing}Hello!\n",
            f"`{tag}…{closing}`",
            f"* `{tag}`: begins\n* `{closing}`: ends",
        ]
    )


def _about_tokens(chance: random.Random) -> str:
    token, other, product = chance.choice(_TOKENS), chance.choice(_TOKENS), chance.choice(_PRODUCTS)
    header = chance.choice(_HEADERS)
    return chance.choice(
        [
            f"{product} stops at {token} and {other}.",
            f"The special tokens are {token}, {other} and a few more.",
            f"In {product}, `{header}` begins a message.",
            f"```text\n{header}Hello{token}\n```",
            f"Never show `{token}` to people; {product} strips it.",
            f"1. `{token}` opens\n2. `{other}` closes",
            f'Grep for "{token}" in the log of {product}.',
            f"(see {token}, {other})",
            f"Its id is 200006 for `{token}`, by the table of {product}.",
            f"- {token} begins a message.\n- {other} ends it.",
        ]
    )


def _closing(tag: str) -> str:
    return "<|END_THINKING|>" if tag.startswith("<|") else f"{tag[0]}/{tag[1:]}"


def generated(count: int) -> Iterator[str]:
    """Answers of a few paragraphs, each about tags or tokens."""
    for seed in range(count):
        chance = random.Random(seed)
        parts = [chance.choice(_FILLER), chance.choice((_about_tags, _about_tokens))(chance), chance.choice(_FILLER)]
        if chance.random() < 0.4:
            parts.append(chance.choice((_about_tags, _about_tokens))(chance))
        yield "\n\n".join(parts)


HONEST = [*BY_HAND, *LABELS, *generated(300)]
