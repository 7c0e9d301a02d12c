"""Whether a model writes answers, by what its server reports about it.

Servers have different fields for that: llama.cpp, Ollama, Infinity ``capabilities``; LM Studio, Together ``type``; Speaches, GitHub Models
``task``; LiteLLM ``mode``; OpenRouter ``architecture`` with modalities; Mistral and Azure ``capabilities`` with true and false. A name of a
model says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from chatui.backends.sse import tables
from renderer.strict_json import object_of

_NAMES = ("id", "model_name", "name", "model", "key")
_LISTS = ("data", "models")
_KINDS = ("type", "task", "tasks", "mode", "kind", "model_type", "pipeline_tag")
_ABILITIES = ("capabilities", "model_ability", "endpoints", "supported_endpoint_types")
_NESTED = ("architecture", "model_info")
_ANSWERS = re.compile(
    r"chat|complet|llm|vlm|language|conversation|reasoning|thinking|tool|function|openai|messages|responses"
    r"|text[-_ ]?2?[-_ ]?(to[-_ ]?)?text|text[-_ ]?generation|^(text|generat(e|ion))$"
)
_OTHERS = re.compile(
    r"embed|re-?rank|speech|transcri|moderat|classif|feature-extraction|similarity|fill-mask|diffusion|segmentation"
    r"|\b(asr|stt|tts|ocr)\b|(image|video|audio|music)[-_ ]?(generat|edit|variation)|to[-_ ](image|video|audio)"
)
_MEDIA = frozenset({"image", "video", "audio", "music"})


def left_out(*bodies: object) -> frozenset[str]:
    """The names of models that, as these decoded lists of a server say, do something else than to write answers: embeddings, speech, rerank
    and others. A model is not among them if the lists do not say what it does, or in words that are not known here."""
    answers_of: dict[str, list[bool]] = {}
    for entry in (entry for body in bodies for name in _LISTS for entry in tables(object_of(body).get(name))):
        for name in {entry[key] for key in _NAMES if isinstance(entry.get(key), str)}:
            answers_of.setdefault(name, []).extend(_task_answers(entry))
    return frozenset(name for name, answers in answers_of.items() if answers and not any(answers))


def _task_answers(entry: Mapping[str, object]) -> Iterator[bool]:
    """For each statement about a task: whether it is to write answers."""
    parts = [entry, *(object_of(entry.get(name)) for name in _NESTED)]
    for part in parts:
        taken, given = (list(_words(part.get(f"{end}_modalities"))) for end in ("input", "output"))
        if taken or given:
            yield (not taken or "text" in taken) and (not given or "text" in given)
            continue
        for word in (word for names in (_KINDS, _ABILITIES) for name in names for word in _words(part.get(name))):
            if _ANSWERS.search(word):
                yield True
            elif _OTHERS.search(word):
                yield False
        yield from (False for name in _KINDS for word in _words(part.get(name)) if word in _MEDIA)


def _words(value: object) -> Iterable[str]:
    """A word, the words of a list, or those that a table calls true."""
    if isinstance(value, dict):
        value = [name for name, is_so in value.items() if is_so is True] + [name for name in value.values() if isinstance(name, str)]
    return [
        word.lower() for word in ([value] if isinstance(value, str) else value if isinstance(value, list) else ()) if isinstance(word, str)
    ]
