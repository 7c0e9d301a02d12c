"""``manage.py serve``: prepares the database and static files, then runs the Daphne server."""

from __future__ import annotations

import errno
import logging
import socket
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError
from django.db import DatabaseError, connection

from chatui import starting, workers
from chatui.accounts import groups, passkey_ceremonies, provider_groups
from chatui.accounts.sign_in import new_code
from chatui.database import connections, faults, file_locks
from chatui.display import metrics, process_reports, readiness
from chatui.env import IS_INSTALLED, environment
from chatui.json_schemas import UnusableError
from chatui.live.reactor import CommandLineInterface, twisted_loop
from chatui.live.server import MAX_FRAME_BYTES, Server
from chatui.management.commands import purge
from chatui.model_servers import choice, connected
from chatui.observability import measures
from chatui.observability.error_reports import JsonFormatter
from chatui.operations import forked, machine_keys
from chatui.program import command
from chatui.proxies import address_of, is_this_computer
from chatui.site.static_files import collect_changed
from chatui.store import erasure
from chatui.turns import reaping, sweep

FIRST_PURGE_SECONDS = 30.0
"""How long after its start a process first looks whether a purge is due: not while people reconnect."""


class Command(BaseCommand):
    """All steps from an empty directory to a running server, in one command."""

    help = "Prepare the database and static files, then serve on HOST:PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        starting.add_arguments(parser)

    def execute(self, *args: Any, **options: Any) -> Any:
        """First see whether what it needs can be had: every system check would wait for a database that is away."""
        if options["workers"] < 1:
            raise CommandError("--workers takes a number of processes, from 1.")
        if workers.own:
            workers.own.end_with_parent(environment().drain_seconds)
            if workers.own.number:
                options["skip_checks"] = True  # the process that prepared has made them
        if starting.waiting is None or starting.waiting.place != (options["host"], options["port"]):
            _require_port(options["host"], options["port"])
        if options["workers"] > 1:
            _require_several(workers.own is not None)
        if connection.vendor != "sqlite":
            connection.ensure_connection()
        elif Path(connection.settings_dict["NAME"]).exists():
            _require_writable()
        return super().execute(*args, **options)

    def check(self, *args: Any, **options: Any) -> None:
        """Say in one line why it cannot start; ``manage.py check`` says more."""
        try:
            super().check(*args, **options)
        except SystemCheckError:
            faults = [each for each in run_checks() if each.is_serious() and not each.is_silenced()]
            raise CommandError(" ".join(f"{each.msg} ({each.id})" for each in faults)) from None

    def handle(self, *args: Any, **options: Any) -> None:
        self._lock = _take_serve_lock()
        own = workers.own
        # Until this process has read the list of static files, no other one that shares the directory collects them anew.
        with file_locks.take(Path(settings.STATIC_ROOT), file_locks.COLLECTING, wait=True):
            if own is None:
                # In a child process: otherwise the memory for migrations and compression would stay allocated while this process serves.
                forked.run(self._prepare)
            elif not own.number:
                self._prepare()
            if own is None or own.number:
                import_module("chatui.asgi")
        if own is None or not own.number:
            groups.log_missing()
            provider_groups.apply_tables()
            sweep.interrupt_abandoned()
            erasure.sweep()
        if own is None or own.number:
            self._serve(options["host"], options["port"])

    def _serve(self, host: str, port: int) -> None:
        readiness.begin()
        connections.limit_pages()
        twisted_loop.call_soon(reaping.start_reaping)
        twisted_loop.call_soon(measures.watch_loop)
        twisted_loop.call_soon(process_reports.begin)
        twisted_loop.create_task(metrics.answer_workers(), name="metrics")
        twisted_loop.call_later(FIRST_PURGE_SECONDS, purge.begin)
        settings.ALLOWED_HOSTS += _served_hosts(host)
        cli = CommandLineInterface()
        listener = workers.own.listener if workers.own else starting.waiting.hand_over() if starting.waiting else None
        cli.server_class = partial(Server, partial(self._begin, host, port), listener)
        sizes = f"--websocket-max-message-size {MAX_FRAME_BYTES} --websocket-max-frame-size {MAX_FRAME_BYTES}"
        cli.run(["-b", host, "-p", str(port), *sizes.split(), "--no-server-name", "-v", "0", "chatui.asgi:application"])

    def _begin(self, host: str, port: int) -> None:
        own = workers.own
        if own is None or own.is_first:
            self._print_address(host, port)
        for spec in connected.specs():
            choice.models_of(spec)  # starts a request in the background, so that the first page can list the models
            connected.announce(spec)
        if own is None or own.is_first:
            code = new_code()
            if code:
                self._say(f"  There is no account yet. Open that address; the code for the first one: {code}\n")
            self._say("")
        if own:
            own.serves()

    def _print_address(self, host: str, port: int) -> None:
        own = _own_addresses() if _is_unspecified(host) else [] if is_this_computer(host) else [host]
        named = passkey_ceremonies.named_origin("http", _place(host, port)) if _is_unspecified(host) or host in _LOCALHOST else None
        if public := environment().origins:  # any other address may be refused, such as one that is only for the proxy
            self._say(f"\n  Chat is at {public[0]}/ (it listens on {_place(host, port)})\n")
        else:
            self._say(f"\n  Chat is at {named or f'http://{_place(host, port)}'}/\n")
        if own and not public:
            self._say(f"  Others on its network open {' or '.join(f'http://{_place(each, port)}/' for each in own)}")
            self._say("  Over http, whoever can listen there reads passwords: put https in front (README.md, Letting others in).\n")
        specs = connected.specs()
        names = ", ".join(spec.url or "the built-in demo" for spec in specs)
        names += " (connect a model server on the first page, or set CHATUI_BACKEND_URL)" if connected.is_demo() else ""
        self._say(f"  Answers come from {names or 'nowhere: run ' + command('check')}\n")

    def _prepare(self) -> None:
        self._say("\n  Preparing the database…")
        call_command("migrate", verbosity=0)
        try:
            machine_keys.require()
        except machine_keys.OtherKeysError as error:
            raise CommandError(str(error)) from None
        from chatui.tools import confirmations  # takes 1 MB, which ends with this child process

        try:
            confirmations.take_over(environment().data_dir)
        except UnusableError as error:
            logging.getLogger(__name__).error("confirmed tools are not taken over: %s", error)
        if not settings.DEBUG:
            self._say("  Preparing styles and scripts…")
            try:
                collect_changed()
            except OSError as error:
                place = error.filename or settings.STATIC_ROOT
                raise CommandError(f"Styles and scripts cannot be stored: {place}: {error.strerror}.") from None

    def _say(self, line: str) -> None:
        if environment().log_format == "json":
            if not line.strip():
                return
            record = logging.LogRecord(__name__, logging.INFO, __file__, 0, "%s", (line.strip(),), None)
            line = JsonFormatter().format(record)
        self.stdout.write(line)
        self.stdout.flush()  # whoever waits reads it, also where the output is a file


_LOCALHOST = ("127.0.0.1", "::1", "localhost")


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_unspecified(host: str) -> bool:
    """Whether to listen there is to listen on all addresses of this machine."""
    address = address_of(host)
    return address is not None and address.is_unspecified


def _served_hosts(host: str) -> list[str]:
    """The host names under which pages are served besides those of the settings: the address to listen on, unless the operator named
    hosts."""
    if "hosts" in environment().model_fields_set:
        return []
    return [f"[{each}]" if ":" in each else each for each in (_own_addresses() if _is_unspecified(host) else [host])]


def _own_addresses() -> list[str]:
    """The addresses of this machine on its main network, IPv4 first. Nothing is sent: the system only chooses the way to an address that
    is kept for documentation (RFC 5737, RFC 3849)."""
    found = []
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as way:
                way.connect((elsewhere, 9))
                found.append(str(way.getsockname()[0]))
        except OSError:
            continue
    return found


def _require_port(host: str, port: int) -> None:
    """Refuse a port that the server cannot listen on, before anything is prepared. The server itself reports what a name leads to."""
    try:
        starting.listening(host, port).close()
    except socket.gaierror:
        return
    except OverflowError:
        raise CommandError(f"{port} is no port: take one from 1 to 65535.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            other = command(f"serve --port {port + 1}") + ("" if IS_INSTALLED else f", or make run PORT={port + 1}")
            raise CommandError(f"Port {port} of {host} is taken by another program: end it, or take another port ({other}).") from None
        raise CommandError(f"{host}:{port} cannot be listened on ({error.strerror}): take another --host or --port.") from None


def _require_several(can_be: bool) -> None:
    """Refuse more than one worker without what they need to know of each other. ``can_be``: there is a parent."""
    if connection.vendor == "sqlite" or not environment().redis_url:
        raise CommandError("--workers needs PostgreSQL and Redis (CHATUI_DATABASE_URL, CHATUI_REDIS_URL): one process serves without.")
    if not can_be:  # the command was called by other code, or the port was free again a moment later
        raise CommandError("The workers cannot be started: the port could not be opened. Try again.")


def _require_writable() -> None:
    """Refuse a SQLite file that this user may only read, as after a restore or a copy by root: every form would fail."""
    try:
        connections.accepts_writes()
    except DatabaseError as error:
        if faults.is_read_only(error):
            name = connection.settings_dict["NAME"]
            raise CommandError(f"The database {name} can be read, but not written: give the file and its directory to this user.") from None
        if not faults.is_locked(error):
            raise


def _take_serve_lock() -> IO[str] | None:
    """Lock a SQLite file while this process serves it. Followers of answers are in memory, so there must not be a second process."""
    if connection.vendor != "sqlite":
        return None
    database = Path(connection.settings_dict["NAME"])
    try:
        return file_locks.take(database, file_locks.SERVING)
    except file_locks.LockTakenError:
        raise CommandError(
            f"Another process already serves {database}, or restores a backup of it. Stop it first. With PostgreSQL and Redis "
            "several processes can serve (docs/operating/processes.md)."
        ) from None
