"""What may be wrong with the settings, the operator's files and what they name: one rule each, for ``manage.py check`` and each start.

A mistake in Administration is at most a warning: it must not keep the server from starting.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import Group
from django.core import checks
from django.core.checks import CheckMessage, register
from django.core.checks.security import base, csrf
from django.db import DatabaseError, connection
from django.http.request import validate_host

from chatui import instructions, workers
from chatui.accounts import groups, people
from chatui.accounts.sign_in_settings import EVERYBODY, sign_in_file
from chatui.backends import registry
from chatui.backends.auto import AUTO
from chatui.backends.keys import VARIABLE_PREFIX, KeyUnusableError
from chatui.backends.spec import NO_REVIEW, BackendSpec, SpecError, find, is_model_name
from chatui.database import connections, versions
from chatui.documents import reading
from chatui.env import Environment, environment
from chatui.model_servers import configured, connected, vocabulary
from chatui.models.model_servers import StoredBackend
from chatui.models.passkeys import Passkey
from chatui.models.user import User
from chatui.observability import tracing
from chatui.program import command
from chatui.site import brand, colours, mark
from chatui.site.catalogues import not_compiled
from chatui.tools import catalogue
from chatui.tools.python import availability, packages

Found = Iterator[tuple[str, str]]
"""Pairs of an id, whose letter is the level (E, W, I), and a sentence."""
_LEVELS: dict[str, Callable[..., CheckMessage]] = {"E": checks.Error, "W": checks.Warning, "I": checks.Info}


def _rule(find_problems: Callable[[Environment], Found]) -> Callable[..., list[CheckMessage]]:
    """Registers a system check. If the database is not migrated yet, or down, the rule finds no more: others report that."""

    def check(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
        found: list[CheckMessage] = []
        with contextlib.suppress(DatabaseError):
            for identity, text in find_problems(environment()):
                found.append(_LEVELS[identity[0]](text, id=f"chatui.{identity}"))
        return found

    check.__qualname__ = find_problems.__qualname__
    register(check)
    return check


@register(checks.Tags.security, deploy=True)
def with_our_middleware(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Django's checks of its security middleware. Django itself skips them, because MIDDLEWARE lists our subclasses."""
    from django.test.utils import override_settings  # imported here, because it loads much that a server does not need

    names = ("security.SecurityMiddleware", "clickjacking.XFrameOptionsMiddleware", "csrf.CsrfViewMiddleware")
    with override_settings(MIDDLEWARE=[f"django.middleware.{name}" for name in names]):
        return [message for check in _DJANGO_CHECKS for message in check(app_configs)]


_DJANGO_CHECKS = (
    base.check_sts,
    base.check_sts_include_subdomains,
    base.check_sts_preload,
    base.check_content_type_nosniff,
    base.check_ssl_redirect,
    base.check_referrer_policy,
    base.check_xframe_deny,
    csrf.check_csrf_cookie_secure,
    base.check_cross_origin_opener_policy,
)

_OTHER_VARIABLES = (VARIABLE_PREFIX, "CHATUI_TEST_", "CHATUI_CACHE_DIR", "CHATUI_CHROMIUM", "CHATUI_SHARED_DIR")
"""Names or prefixes of variables that are not settings: keys to which Administration refers, and variables for the tests."""
_RETIRED = {
    "CHATUI_BACKEND_SUMMARY_REVIEW": NO_REVIEW,
    "CHATUI_CLOSED_ACCOUNT_HEIR": f"does nothing any more and can be removed: {command('purge --heir NAME')} chooses the heir",
    "CHATUI_DJANGO_ADMIN": "does nothing any more and can be removed: everything it changed has a page under Administration",
    "CHATUI_TOOL_THREADS": "does nothing any more and can be removed: 16 tools that are plain functions run at a time",
}
"""Settings of earlier versions that are ignored, with what is said about each."""
_RETIRED_LIMITS = {
    "CHATUI_ALERT_HOURS": "staff are warned of refused attempts within 24 hours, as many as CHATUI_ALERT_ATTEMPTS says",
    "CHATUI_PYTHON_IDLE_MINUTES": "an interpreter ends when it was idle for 10 minutes",
    "CHATUI_PYTHON_INTERPRETERS_OF_PERSON": "a person has at most 2 of the interpreters that CHATUI_PYTHON_INTERPRETERS allows",
    "CHATUI_PYTHON_SECONDS": "code is interrupted after five sixths of CHATUI_TOOL_SECONDS, or 4 seconds before its end",
}
"""Settings of earlier versions that restricted something, each with what holds now. While one is set, nothing starts: ignored, it might
leave something open that its operator meant to close."""


@_rule
def known_names(env: Environment) -> Found:
    """A variable that looks like a setting but is not: if it is misspelt, the setting would silently have its default."""
    known = {f"CHATUI_{name}".upper() for name in Environment.model_fields}
    for name in sorted(name for name in os.environ if name.upper().startswith("CHATUI_") and name.upper() not in known):
        if name.startswith(_OTHER_VARIABLES) or _is_named_in_a_file(env, name):
            continue
        if name.upper() in _RETIRED:
            yield "W021", f"{name} {_RETIRED[name.upper()]}."
        elif name.upper() in _RETIRED_LIMITS:
            yield "E063", f"There is no setting {name} any more: {_RETIRED_LIMITS[name.upper()]}. Remove it if that will do."
        elif near := difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.8):
            yield "E050", f"There is no setting {name}. Did you mean {near[0]}?"
        else:
            yield "W050", f"There is no setting {name}; docs/settings.md lists all of them."


def _is_named_in_a_file(env: Environment, name: str) -> bool:
    """Whether one of the operator's files names this variable, for a key."""
    try:
        return any(name in path.read_text(encoding="utf-8") for path in (env.backends_file, env.tools_file) if path is not None)
    except (OSError, UnicodeDecodeError):
        return False  # other rules report that


@_rule
def origins(env: Environment) -> Found:
    """CHATUI_ORIGINS are compared exactly with what browsers send: scheme, host and port, with nothing after them."""
    if not all(map(_is_origin, env.origins)):
        yield "E004", "CHATUI_ORIGINS must look like https://chat.example.org, without a path."
        return
    if not all(map(_is_origin, env.api_origins)):
        yield "E004", "CHATUI_API_ORIGINS must look like https://app.example.org, without a path."
    for origin in env.origins:
        if not validate_host(urlsplit(origin).hostname or "", env.hosts):
            yield "W062", f"CHATUI_ORIGINS has {origin}, whose host is not in CHATUI_HOSTS: every page there is refused."
    secure = next((origin for origin in env.origins if urlsplit(origin).scheme == "https"), None)
    if secure is not None and not env.trusted_proxies:
        words = "only a proxy can speak HTTPS, and what it says is believed only if it is trusted. Without it every page there is an error"
        yield "W063", f"CHATUI_ORIGINS has {secure}, but CHATUI_TRUSTED_PROXIES is empty: {words} (docs/operating/https.md)."


@_rule
def values(env: Environment) -> Found:
    """Settings that are accepted, and do not do what their operator expects."""
    if env.file_scanner and shutil.which(shlex.split(env.file_scanner)[0]) is None:
        yield "W064", "CHATUI_FILE_SCANNER does not name a program that can be run here, so every upload is refused."
    if 0 < len(env.secret_key) < MIN_SECRET_CHARS:
        words = f"fewer than {MIN_SECRET_CHARS} characters: whoever guesses it can sign in as anybody"
        yield "W065", f"CHATUI_SECRET_KEY has {words}. python -c 'import secrets; print(secrets.token_urlsafe(50))' makes one."
    if env.search_url and (urlsplit(env.search_url).scheme not in ("http", "https") or not urlsplit(env.search_url).hostname):
        yield "W066", "CHATUI_SEARCH_URL is not an http or https address, so models cannot search."
    if any(network.prefixlen == 0 for network in env.trusted_proxies):
        yield "W067", "CHATUI_TRUSTED_PROXIES trusts every address: anybody can say which address they come from, and pass every limit."
    if "*" in env.hosts:
        yield "W068", "CHATUI_HOSTS is *: pages are served under every host name, also under one of an attacker's. Name your own."


MIN_SECRET_CHARS = 50


def _is_origin(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and parts._replace(path="", query="", fragment="").geturl() == text


@_rule
def newer_database(env: Environment) -> Found:
    """An older version must not write to a newer database: every command that is checked refuses it."""
    if newer := versions.newer(connection):
        yield "E061", newer


@_rule
def redis_address(env: Environment) -> Found:
    """The address of Redis may have options of the client. With one that it does not know, every request that is counted would fail."""
    if not env.redis_url:
        return
    import redis  # as in ``chatui.limits``

    try:
        redis.Redis.from_url(env.redis_url).connection_pool.make_connection()
    except (TypeError, ValueError):
        yield "E062", "CHATUI_REDIS_URL: the client knows no such option, or not this value, behind the ? (docs/scaling.md, Redis)."


@_rule
def postgresql_connections(env: Environment) -> Found:
    """What this process may need must be left at the server."""
    if connection.vendor != "postgresql":
        return
    open_ones, allowed = connections.of_server()
    used = open_ones - 1  # this one ends with the check
    needed = workers.count() * CONNECTIONS_OF_PROCESS
    if allowed - used < needed:
        who = "a process" if workers.count() == 1 else f"{workers.count()} workers"
        words = f"PostgreSQL allows {allowed} connections, of which {used} are open, and {who} may use {needed}"
        yield "W069", f"{words}: raise max_connections (docs/operating/processes.md), or pages fail at busy times."


CONNECTIONS_OF_PROCESS = 39
"""17 for sockets and turns, one for readiness, and 20 for pages."""


@_rule
def pages(env: Environment) -> Found:
    """CHATUI_PAGES_DIR should exist. Without compiled catalogues every page is in English."""
    if not env.pages_dir.is_dir():
        yield "W001", "CHATUI_PAGES_DIR is not a directory; the operator's pages are left out."
    if not_compiled():
        yield "W020", "The translations are not compiled, so pages are in English: run python -m chatui.site.catalogues."


@_rule
def brand_is_usable(env: Environment) -> Found:
    """The name must fit into titles, the mark be a small picture without scripts, and the accent a colour."""
    if not brand.is_name(env.name):
        yield "E006", f"CHATUI_NAME must be one line of 1 to {brand.MAX_NAME} characters."
    try:
        if env.mark:
            mark.read(env.mark)
    except mark.MarkError as error:
        yield "E007", str(error)
    if env.accent:
        yield from _accent(env.accent)


def _accent(text: str) -> Found:
    wanted = colours.parse(text)
    if wanted is None:
        yield "E008", "CHATUI_ACCENT must be a colour such as #0b6355."
        return
    themes = (("light", colours.LIGHT_PAPERS, colours.light_accent(wanted)), ("dark", colours.DARK_PAPERS, colours.dark_accent(wanted)))
    words = "CHATUI_ACCENT {} has a contrast of only {:.1f}:1 in the {} theme, and WCAG AA requires 4.5:1. {} is used there instead."
    for theme, papers, found in themes:
        if found.colour != wanted:
            yield "W019", words.format(text, colours.lowest_contrast(wanted, papers), theme, colours.to_hex(found.colour))


@_rule
def traces(env: Environment) -> Found:
    """The CHATUI_TRACES_… settings must be valid, and the packages that they need installed."""
    if problem := tracing.problem_of(env):
        yield "E060", problem


@_rule
def sign_in(env: Environment) -> Found:
    """Mistakes in the sign-in file are errors: they could omit a provider, or disable passwords for more people than intended."""
    file = sign_in_file()
    yield from (("E052", f"CHATUI_SIGN_IN_FILE: {problem}") for problem in file.problems)
    for provider in file.providers:
        if provider.client_secret_file is not None and not provider.client_secret_file.is_file():
            yield "E051", f"CHATUI_SIGN_IN_FILE: the client_secret_file of {provider.key!r} cannot be read."
    # If passwords are off, somebody must still be able to sign in while a provider is down.
    if file.passwords != EVERYBODY:
        accounts = User.objects.filter(username__in=file.emergency_accounts, is_active=True)
        if not any(person.has_usable_password() for person in accounts):
            yield "W053", "CHATUI_SIGN_IN_FILE: no emergency account can sign in; while a provider is down, nobody can."


@_rule
def passkeys_match_host(env: Environment) -> Found:
    """Browsers offer a passkey only for the host that it was created for, so old passkeys stop working if the host name changes."""
    hosts = {urlsplit(origin).hostname or "" for origin in env.origins}
    if hosts and (elsewhere := Passkey.objects.exclude(site__in=hosts).count()):
        yield "W057", f"{elsewhere} passkeys were created for a host that is not in CHATUI_ORIGINS, and no longer work."


@_rule
def heir_is_chosen(env: Environment) -> Found:
    """Without an heir, closed accounts are neither handed over nor erased."""
    if env.closed_accounts == "hand-over" and people.heir() is None:
        yield (
            "W059",
            f"CHATUI_CLOSED_ACCOUNTS: no account is the heir, so nothing is handed over: {command('purge --heir NAME')} chooses one.",
        )


@_rule
def mail_links_have_address(env: Environment) -> Found:
    """Links in mails use the operator's setting, never the host of a request."""
    if env.mail_url and not env.origins:
        yield "W055", "CHATUI_MAIL_URL: without CHATUI_ORIGINS, no password reset links can be mailed."


@_rule
def group_instructions_are_valid(env: Environment) -> Found:
    """Mistakes in the groups' instructions are errors: some people would get no instructions."""
    for problem in instructions.group_instructions().problems:
        yield "E053", f"CHATUI_GROUP_INSTRUCTIONS_FILE: {problem}."


@_rule
def named_groups_exist(env: Environment) -> Found:
    """Settings that name a missing group have no effect. Another rule covers the settings of model servers."""
    known = {groups.SIGN_IN: "W052", groups.FACTOR: "W054", groups.LIMITS: "W018"}
    for missing in groups.missing():
        if missing.setting != groups.BACK_ENDS:
            yield known.get(missing.setting, "W058"), f"{missing.setting}: there is no group {missing.group!r}, so {missing.effect}."


@_rule
def offered_tools(env: Environment) -> Found:
    """The tools of CHATUI_TOOLS should exist, and should be allowed together."""
    named = set(env.tools) | set(env.tool_facts)
    unknown = sorted(named - {each.offered_as for each in catalogue.tools().values()}) if named else []
    left_out = catalogue.combine(catalogue.all_enabled()).left_out
    no_tool = "CHATUI_TOOLS: there is no tool {!r}; no package provides one that can be offered, and none of the tools file is confirmed."
    apart = "CHATUI_TOOLS: {!r} is not offered together with {}: one reads private data, another sends something out (docs/tools.md)."
    yield from (("W030", no_tool.format(name)) for name in unknown)
    yield from (("I031", apart.format(name, ", ".join(map(repr, others)))) for name, others in sorted(left_out.items()))


@_rule
def tools_file(env: Environment) -> Found:
    """CHATUI_TOOLS_FILE should have no mistakes. The rest of it is used in any case."""
    if env.tools_file is not None:
        from chatui.tools.remote import definition  # as in ``chatui.tools.catalogue``

        file = definition.read_file(env.tools_file)
        yield from (("W032", f"CHATUI_TOOLS_FILE: {problem}") for problem in file.problems)
        programs = [spec for spec in file.servers if isinstance(spec, definition.McpSpec)]
        yield from (("W034", _ONE_FILE.format(spec.name, ", ".join(names))) for spec in programs if (names := definition.fixed_files(spec)))


_ONE_FILE = (
    "CHATUI_TOOLS_FILE: {}: people share what its program keeps, because a fixed file is named ({}). Put {{session}} into its path, or set"
    ' sessions = "shared" if that is meant (docs/tools.md).'
)


@_rule
def python_sandbox(env: Environment) -> Found:
    """If the tool ``python`` is offered, its sandbox must start on this machine, and all attempts to escape from it must fail."""
    if availability.RECIPIENT in env.tools and (reason := availability.why_off()):
        yield "W040", f"CHATUI_TOOLS: python is off, because {reason}."
    if availability.RECIPIENT in env.tools and packages.program(env.data_dir) and not packages.is_current(env.data_dir):
        yield "I041", f"The packages of the tool python have other versions than this release pins. Replace them: {command('python_tool')}"


@_rule
def search_engine(env: Environment) -> Found:
    """A configured search engine needs an address or a key; otherwise models cannot search."""
    if env.search == "none":
        return  # Administration may choose one
    from chatui.tools import search_engines  # as in ``chatui.tools.catalogue``

    if not search_engines.is_configured():
        missing = "CHATUI_SEARCH_URL" if env.search == "searxng" else "CHATUI_SEARCH_KEY"
        yield "W033", f"CHATUI_SEARCH={env.search} needs {missing}; models cannot search until it is set."


@register(deploy=True)
def reading_of_files(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A process that reads uploaded files must be sandboxed on this machine, and must survive decompression bombs. Takes two seconds."""
    return [checks.Warning(f"Uploaded files: {fault}; see docs/operating/sandboxes.md.", id="chatui.W056") for fault in reading.faults()]


@_rule
def backend_variables(env: Environment) -> Found:
    """The CHATUI_BACKEND_… variables: an address with a host and no password in it, a readable key, a known kind, a model name."""
    yield from _address(env)
    if env.backend_key_file is not None and not env.backend_key_file.is_file():
        yield "E003", "CHATUI_BACKEND_KEY_FILE does not name a file."
    else:
        try:
            connected.environment_key()
        except KeyUnusableError as error:
            yield "E014", _sentence(str(error))
    if env.backend_model and not is_model_name(env.backend_model):
        yield "E013", "CHATUI_BACKEND_MODEL is not a valid model name."
    if env.backend_url and env.backends_file is None:
        try:
            configured.of_environment(env)
        except SpecError as error:
            yield from (("E015", _sentence(f"CHATUI_BACKEND_…: {problem}")) for problem in error.problems)


def _address(env: Environment) -> Found:
    if not env.backend_url:
        return
    parts, kinds = urlsplit(env.backend_url), (AUTO, *registry.KINDS)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        yield "E001", "CHATUI_BACKEND_URL is not an http or https address."
    elif parts.username or parts.password:
        yield "E002", "CHATUI_BACKEND_URL contains a user name; use CHATUI_BACKEND_KEY or CHATUI_BACKEND_KEY_FILE."
    if env.backend_kind and env.backend_kind not in kinds:
        yield "E005", f"CHATUI_BACKEND_KIND must be one of {', '.join(kinds)}."
    elif env.backend_kind and registry.needs_vocabulary(env.backend_kind) and vocabulary.find(env.data_dir) is None:
        yield "W002", f"This kind of model server needs the vocabulary: run {command('fetch_vocabulary')}."


@_rule
def backends_file(env: Environment) -> Found:
    """Mistakes in CHATUI_BACKENDS_FILE: such entries are ignored."""
    if env.backends_file is None:
        return
    file = configured.file(env.backends_file)
    yield from (("E010", _sentence(f"CHATUI_BACKENDS_FILE: {problem}")) for problem in file.problems)
    yield from (("W022", _sentence(f"CHATUI_BACKENDS_FILE: {text}")) for text in file.retired)
    if env.backend_url:
        yield "W010", "CHATUI_BACKEND_URL is ignored, because CHATUI_BACKENDS_FILE is set."
    outside = configured.operator_backends(env)
    yield from (("E011", text) for text in _unusable_keys(outside))
    yield from (("E012", text) for text in _unknown_summarizers(outside))


@_rule
def files_of_backends(env: Environment) -> Found:
    """Without its certificate files, no request reaches a model server."""
    for spec in configured.operator_backends(env):
        for name in ("ca_file", "certificate_file", "certificate_key_file"):
            if (path := getattr(spec, name)) and not Path(path).is_file():
                yield "E016", _sentence(f"model server {spec.name!r}: {name} does not name a file")


@_rule
def stored_backends(env: Environment) -> Found:
    """Mistakes in the enabled rows of Administration."""
    rows, outside = configured.rows(), configured.operator_backends(env)
    waiting = StoredBackend.objects.filter(is_enabled=True).exclude(unconfirmed_by="").values_list("name", "unconfirmed_by")
    known_groups, taken = set(Group.objects.values_list("name", flat=True)), {spec.name for spec in outside}
    stored = [spec for spec in rows.specs if spec.name not in taken]
    yield from (("W011", _sentence(problem)) for problem in rows.problems)
    for spec in rows.specs:
        if spec.name in taken:
            yield "W012", f"Model server {spec.name!r} is also configured outside Administration, and that configuration takes precedence."
    unconfirmed = "Model server {!r}, changed by {!r}, is available to nobody until somebody who may see hidden channels confirms it."
    yield from (("W017", unconfirmed.format(*each)) for each in waiting)
    yield from (("W013", text) for text in _unusable_keys(stored))
    yield from (("W014", text) for text in _unknown_summarizers(stored))
    for spec in outside:
        for group in spec.groups:
            if group not in known_groups:
                yield "W015", f"Model server {spec.name!r}: there is no group {group!r}, so nobody can use it."


@_rule
def title_model(env: Environment) -> Found:
    """The model server for titles should exist. This is no error, because it may be configured in Administration later."""
    if env.titles and env.title_model and find(connected.specs(), env.title_model) is None:
        yield "W070", f"CHATUI_TITLE_MODEL: there is no model server {env.title_model!r}, so no model writes titles of conversations."


@_rule
def vocabulary_of_backends(env: Environment) -> Found:
    """Model servers that use token ids need the vocabulary."""
    needing = [spec.name for spec in connected.specs() if registry.needs_vocabulary(spec.kind) and spec.name != configured.ENVIRONMENT_NAME]
    if needing and vocabulary.find(env.data_dir) is None:
        yield "W016", f"Model server {', '.join(needing)} needs the vocabulary: run {command('fetch_vocabulary')}."


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text[:1].upper()}{text[1:]}."


def _unusable_keys(found: Iterable[BackendSpec]) -> Iterator[str]:
    for spec in found:
        try:
            connected.key_of(spec)
        except KeyUnusableError as error:
            yield _sentence(f"model server {spec.name!r} cannot be used: {error}")


def _unknown_summarizers(specs: Iterable[BackendSpec]) -> Iterator[str]:
    known = connected.specs()
    for spec in specs:
        if spec.summarizer and find(known, spec.summarizer) is None:
            yield _sentence(f"model server {spec.name!r}: there is no model server {spec.summarizer!r} to write its summaries")
