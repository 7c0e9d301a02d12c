"""The token-id dialects (llama.cpp, vLLM, SGLang) by the name of the server.

A marker counts only if its id was sent. A server that does not say which ids it sampled is refused, because a quoted marker could not
be distinguished from a real one.
"""

from __future__ import annotations

from chatui.backends.harmony.dialect import Dialect
from chatui.backends.harmony.llama_cpp import LlamaCpp
from chatui.backends.harmony.sglang import SGLang
from chatui.backends.harmony.vllm import Vllm

DIALECTS: dict[str, Dialect] = {"llama.cpp": LlamaCpp(), "vLLM": Vllm(), "SGLang": SGLang()}
"""By the name that ``discovery`` gives the server."""
