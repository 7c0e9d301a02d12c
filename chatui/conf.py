"""The model server of this deployment, built from the settings once for each event loop."""

from __future__ import annotations

import asyncio
from functools import cache
from weakref import WeakKeyDictionary

from django.conf import settings

from chatui import vocabulary
from chatui.backends import registry
from chatui.backends.base import Backend, Limits
from chatui.env import Environment
from renderer.vocabulary import Vocabulary

_backends: WeakKeyDictionary[asyncio.AbstractEventLoop, Backend] = WeakKeyDictionary()


def environment() -> Environment:
    """The operator's environment, as the settings read it."""
    environment: Environment = settings.ENVIRONMENT
    return environment


def backend() -> Backend:
    """The back end for the running event loop: an HTTP client belongs to the loop that it was first used on."""
    loop = asyncio.get_running_loop()
    if loop not in _backends:
        _backends[loop] = build()
    return _backends[loop]


def build() -> Backend:
    """A new back end from the settings; the built-in demo where no address is set."""
    env = environment()
    return registry.build(
        env.backend_url,
        key=env.key() or None,
        kind=env.backend_kind or None,
        model=env.backend_model or None,
        limits=Limits(first=env.backend_first_token_seconds, idle=env.backend_idle_seconds, overall=env.backend_overall_seconds),
        tokens_per_second=env.demo_tokens_per_second,
        vocabulary=gpt_oss_vocabulary,
    )


@cache
def gpt_oss_vocabulary() -> Vocabulary:
    """The vocabulary, read when the first question needs it: half a second and 80 MB. Raises VocabularyError where it is not here."""
    return vocabulary.load(environment().data_dir)


def is_demo() -> bool:
    """Whether answers come from the built-in demo."""
    return not environment().backend_url
