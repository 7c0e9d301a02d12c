"""The headers that tell a program how many requests its key may make within a minute, by the names and in the forms that SDKs read.

There is no limit of tokens within a minute, so there is no header about one.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from chatui.accounts.api_keys import KeyThrottledError, LiveKey

LIMIT, REMAINING, RESET = "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"
OF_MESSAGES = {LIMIT: "anthropic-ratelimit-requests-limit", REMAINING: "anthropic-ratelimit-requests-remaining"}
RESET_OF_MESSAGES = "anthropic-ratelimit-requests-reset"
NAMES = (LIMIT, REMAINING, RESET, *OF_MESSAGES.values(), RESET_OF_MESSAGES)


def rate_of(key: LiveKey | KeyThrottledError, *, is_for_messages: bool) -> dict[str, str]:
    """How many requests the key may make within a minute, how many more within this one, and when that ends: as a duration (``1m0s``), in
    Anthropic's format as a time. While requests cannot be counted only the first is known."""
    found = {LIMIT: str(key.per_minute)}
    if key.used:
        found |= {REMAINING: str(max(key.per_minute - key.used, 0)), RESET: duration(key.seconds)}
    if is_for_messages:
        found |= {name: found[same] for same, name in OF_MESSAGES.items() if same in found}
        if key.used:
            found[RESET_OF_MESSAGES] = f"{timezone.now() + timedelta(seconds=key.seconds):%Y-%m-%dT%H:%M:%SZ}"
    return found


def duration(seconds: int) -> str:
    """Seconds as OpenAI's servers write them: ``59s``, ``1m0s``."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
