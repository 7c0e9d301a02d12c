"""Django system checks of the ``CHATUI_…`` environment variables, run by ``manage.py check``."""

from __future__ import annotations

import difflib
import os
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import Group
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.checks.security import base, csrf
from django.db import DatabaseError, connection
from django.http.request import validate_host
from django.utils.module_loading import import_string

from chatui.backends import registry
from chatui.backends.auto import AUTO
from chatui.backends.keys import VARIABLE_PREFIX
from chatui.backends.spec import NO_REVIEW
from chatui.database import versions
from chatui.documents import process
from chatui.env import Environment, environment
from chatui.model_servers import vocabulary
from chatui.site.catalogues import not_compiled
from chatui.tools import catalogue
from chatui.tools.python import availability

_OTHER_VARIABLES = (VARIABLE_PREFIX, "CHATUI_TEST_", "CHATUI_CACHE_DIR", "CHATUI_CHROMIUM", "CHATUI_SHARED_DIR")
"""Names or prefixes of variables that are not settings: keys to which the admin pages refer, and variables for the tests."""
_RETIRED = {"CHATUI_BACKEND_SUMMARY_REVIEW": NO_REVIEW}
"""Settings of earlier versions that are ignored, with what is said about each."""


@register(checks.Tags.security, deploy=True)
def with_our_middleware(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Django's checks of its security middleware. Django itself skips them, because MIDDLEWARE lists our subclasses."""
    from django.test.utils import override_settings  # imported here, because it loads much that a server does not need

    named = [f"{each.__module__}.{each.__qualname__}" for ours in map(import_string, settings.MIDDLEWARE) for each in ours.__mro__]
    with override_settings(MIDDLEWARE=named):
        return [message for check in _DJANGO_CHECKS for message in check(app_configs)]


_DJANGO_CHECKS = (
    base.check_sts,
    base.check_sts_include_subdomains,
    base.check_sts_preload,
    base.check_content_type_nosniff,
    base.check_ssl_redirect,
    base.check_referrer_policy,
    base.check_cross_origin_opener_policy,
    base.check_xframe_deny,
    base.check_security_middleware,
    base.check_xframe_options_middleware,
    csrf.check_csrf_middleware,
    csrf.check_csrf_cookie_secure,
)


@register()
def known_names(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A variable that looks like a setting but is not: if it is misspelt, the setting would silently have its default."""
    settings = {f"CHATUI_{name}".upper() for name in Environment.model_fields}
    unknown = sorted(name for name in os.environ if name.upper().startswith("CHATUI_") and name.upper() not in settings)
    return [_unknown(name, settings) for name in unknown if not name.startswith(_OTHER_VARIABLES) and not _is_named_in_a_file(name)]


def _unknown(name: str, settings: set[str]) -> CheckMessage:
    if name.upper() in _RETIRED:
        return checks.Warning(f"{name} {_RETIRED[name.upper()]}.", id="chatui.W021")
    near = difflib.get_close_matches(name.upper(), settings, n=1, cutoff=0.8)
    if near:
        return Error(f"There is no setting {name}. Did you mean {near[0]}?", id="chatui.E050")
    return checks.Warning(f"There is no setting {name}; docs/settings.md lists all of them.", id="chatui.W050")


def _is_named_in_a_file(name: str) -> bool:
    """Whether one of the operator's files names this variable, for a key."""
    env = environment()
    try:
        return any(name in path.read_text(encoding="utf-8") for path in (env.backends_file, env.tools_file) if path is not None)
    except (OSError, UnicodeDecodeError):
        return False  # other checks report that


@register()
def backend_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_BACKEND_URL must be an http or https address with a host and no password in it."""
    url = environment().backend_url
    if not url:
        return []
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [Error("CHATUI_BACKEND_URL is not an http or https address.", id="chatui.E001")]
    if parts.username or parts.password:
        return [Error("CHATUI_BACKEND_URL contains a user name; use CHATUI_BACKEND_KEY or CHATUI_BACKEND_KEY_FILE.", id="chatui.E002")]
    return []


@register()
def key_file(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_BACKEND_KEY_FILE must be readable."""
    path = environment().backend_key_file
    if path is not None and not path.is_file():
        return [Error("CHATUI_BACKEND_KEY_FILE does not name a file.", id="chatui.E003")]
    return []


@register()
def backend_kind(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_BACKEND_KIND must be a known kind; the kinds that use token ids also need the vocabulary."""
    env = environment()
    if not env.backend_url or not env.backend_kind:
        return []
    kinds = (AUTO, *registry.KINDS)
    if env.backend_kind not in kinds:
        return [Error(f"CHATUI_BACKEND_KIND must be one of {', '.join(kinds)}.", id="chatui.E005")]
    if registry.needs_vocabulary(env.backend_kind) and vocabulary.find(env.data_dir) is None:
        return [checks.Warning("This kind of back end needs the vocabulary: run python manage.py fetch_vocabulary.", id="chatui.W002")]
    return []


@register()
def origins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_ORIGINS are compared exactly with what browsers send: scheme, host and port, with nothing after them."""
    bad = [origin for origin in environment().origins if urlsplit(origin)._replace(path="", query="", fragment="").geturl() != origin]
    bad += [origin for origin in environment().origins if urlsplit(origin).scheme not in ("http", "https")]
    if bad:
        return [Error("CHATUI_ORIGINS must look like https://chat.example.org, without a path.", id="chatui.E004")]
    words = "CHATUI_ORIGINS has {}, whose host is not in CHATUI_HOSTS: every page there is refused."
    strange = [each for each in environment().origins if not validate_host(urlsplit(each).hostname or "", environment().hosts)]
    return [checks.Warning(words.format(each), id="chatui.W062") for each in strange]


@register()
def group_limits(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The groups of CHATUI_GROUP_ANSWERS_AT_ONCE should exist."""
    limited = set(environment().group_answers_at_once)
    try:
        unknown = sorted(limited - set(Group.objects.values_list("name", flat=True))) if limited else []
    except DatabaseError:
        return []  # not migrated yet, or down: other checks report that
    words = "CHATUI_GROUP_ANSWERS_AT_ONCE: there is no group {!r}, so this limit applies to nobody."
    return [checks.Warning(words.format(name), id="chatui.W018") for name in unknown]


@register()
def newer_database(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """An older version must not write to a newer database: every command that is checked refuses it."""
    try:
        newer = versions.newer(connection)
    except DatabaseError:
        return []  # down: whatever needs it says so
    return [Error(newer, id="chatui.E061")] if newer else []


@register()
def compiled_catalogues(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Without compiled catalogues every page is in English."""
    if not_compiled():
        words = "The translations are not compiled, so pages are in English: run python -m chatui.site.catalogues."
        return [checks.Warning(words, id="chatui.W020")]
    return []


@register()
def offered_tools(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The tools of CHATUI_TOOLS should exist, and should be allowed together."""
    env = environment()
    named = set(env.tools) | set(env.tool_facts)
    unknown = sorted(named - {each.offered_as for each in catalogue.tools().values()}) if named else []
    no_tool = "CHATUI_TOOLS: there is no tool {!r}; no package provides one that can be offered, and none of the tools file is confirmed."
    left_out = catalogue.combine(catalogue.all_enabled()).left_out
    apart = "CHATUI_TOOLS: {!r} is not offered together with {}: one reads private data, another sends something out (docs/tools.md)."
    return [
        *(checks.Warning(no_tool.format(name), id="chatui.W030") for name in unknown),
        *(checks.Info(apart.format(name, ", ".join(map(repr, others))), id="chatui.I031") for name, others in sorted(left_out.items())),
    ]


@register()
def tools_file(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_TOOLS_FILE should have no mistakes. The rest of it is used in any case."""
    path = environment().tools_file
    if path is None:
        return []
    from chatui.tools.remote import definition  # as in ``chatui.tools.catalogue``

    problems = definition.read_file(path).problems
    return [checks.Warning(f"CHATUI_TOOLS_FILE: {problem}", id="chatui.W032") for problem in problems]


@register()
def python_sandbox(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """If the tool ``python`` is offered, its sandbox must start on this machine, and all attempts to escape from it must fail."""
    if availability.RECIPIENT not in environment().tools or not (reason := availability.why_off()):
        return []
    return [checks.Warning(f"CHATUI_TOOLS: python is off, because {reason}.", id="chatui.W040")]


@register(deploy=True)
def reading_of_files(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A process that reads uploaded files must be sandboxed on this machine, and must survive decompression bombs. Takes two seconds."""
    return [checks.Warning(f"Uploaded files: {fault}; see docs/operating.md.", id="chatui.W056") for fault in process.faults()]


@register()
def search_engine(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A configured search engine needs an address or a key; otherwise models cannot search."""
    env = environment()
    if env.search == "none":
        return []
    from chatui.tools.browser import engines  # as in ``chatui.tools.catalogue``

    if engines.is_configured(env):
        return []
    missing = "CHATUI_SEARCH_URL" if env.search == "searxng" else "CHATUI_SEARCH_KEY"
    return [checks.Warning(f"CHATUI_SEARCH={env.search} needs {missing}; models cannot search until it is set.", id="chatui.W033")]


@register()
def pages_directory(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_PAGES_DIR should exist."""
    if not environment().pages_dir.is_dir():
        return [checks.Warning("CHATUI_PAGES_DIR is not a directory; the operator's pages are left out.", id="chatui.W001")]
    return []
