"""Several processes behind one address: the parent of ``serve --workers N``, and what such a process knows of itself.

The parent opens the listening socket once, and each worker inherits it, so no connection waits at a worker that has died. It uses the
standard library alone, and forks before Django is loaded: first a process that checks, migrates and collects, then the workers, each of
which loads the product itself. It starts a worker again that has ended, passes on the signals that end it, and is otherwise idle. A worker
whose parent has died drains, because its channel to it has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from chatui.starting import WaitingSocket

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
"""How long the parent waits before it starts a worker again: the first time, and at most, after failures in a row."""
STEADY_SECONDS = 60.0
"""A worker that has served this long has not failed in a row."""
MOST_FAILED_STARTS = 5
"""After so many in a row of one worker, while no other serves, the parent gives up."""
END_SECONDS = 10.0
"""How long workers have after a second signal, before they are killed."""
ORPHAN_SECONDS = 60.0
"""How much longer than its drain a worker whose parent has died may take to end."""
DRAIN = signal.SIGUSR1
"""From the parent, for its first SIGTERM: systemd sends that to the workers as well, before or after, and a second one would end them at
once. For the parent's second, it sends SIGINT."""
_SERVES = b"s"
_ENDING = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Own:
    """What this process is under a parent."""

    number: int
    """The worker's number, from 1; 0 is the process that prepares for all."""
    count: int
    listener: socket.socket
    directory: Path
    """Where the sockets are over which the workers speak with each other."""
    channel: socket.socket
    is_first: bool = False
    """Whether it is the first worker of its parent, and says for all that they serve."""

    def serves(self) -> None:
        """Tell the parent that this worker serves."""
        with contextlib.suppress(OSError):  # the parent has just died
            self.channel.send(_SERVES)

    def end_with_parent(self, seconds: float) -> None:
        """From now on end as after SIGTERM when the parent has died, and in any case within ``seconds`` and a minute more."""
        threading.Thread(target=self._watch, args=(seconds,), name="parent", daemon=True).start()

    def _watch(self, seconds: float) -> None:
        try:
            while self.channel.recv(1):
                pass
        except ConnectionResetError:
            pass  # it died before it had read what this worker told it
        except OSError:
            return  # closed, because this process ends
        os.kill(os.getpid(), DRAIN)
        time.sleep(seconds + ORPHAN_SECONDS)
        os._exit(1)


own: Own | None = None
"""None in a process that serves alone, and in the parent."""


def count() -> int:
    """How many processes serve here together."""
    return own.count if own else 1


class _ForkedError(BaseException):
    """Raised in a new process, out of the parent's loop."""


@dataclass(slots=True)
class _Slot:
    """The place of one worker."""

    number: int
    process: int = 0
    """Its id; 0 while there is none."""
    channel: socket.socket | None = None
    serves_since: float | None = None
    failures: int = 0
    """How often it has failed in a row."""
    again: float = 0.0
    """When to start it, by the monotonic clock."""


@dataclass(slots=True)
class _Parent:
    number: int
    waiting: WaitingSocket | None
    listener: socket.socket
    directory: Path
    slots: list[_Slot] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    """Those that end it, as they came."""
    passed_on: int = 0
    status: int = 0
    """The first that was not 0 of the processes that have ended since, as ``os.waitpid`` gives it."""
    kill_at: float = float("inf")
    has_served: bool = False
    wake: tuple[socket.socket, socket.socket] = field(default_factory=socket.socketpair)
    """A signal is written to the second, and ends a wait for the first."""

    def run(self) -> NoReturn:
        """Prepare, and then keep the workers running until a signal."""
        for each in self.wake:
            each.setblocking(False)
        signal.set_wakeup_fd(self.wake[1].fileno(), warn_on_full_buffer=False)
        for number in _ENDING:
            signal.signal(number, lambda number, _: self.signals.append(number))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.slots = [_Slot(0)]
        while True:
            self._reap()
            self._obey()
            if self._is_over():
                self._end()
            if not self.signals:
                self._start_due()
            self._wait()

    def _is_over(self) -> bool:
        if any(slot.process for slot in self.slots):
            return False
        return bool(self.signals) or (self.slots[0].number == 0 and self.status != 0)

    def _end(self) -> NoReturn:
        self._close_listener()
        for each in self.wake:
            each.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        number = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0
        if number in (*_ENDING, DRAIN):
            number = signal.SIGTERM if number == DRAIN else number  # it had not begun to serve
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        code = os.waitstatus_to_exitcode(self.status)
        sys.exit(code if code >= 0 else 128 - code)

    def _close_listener(self) -> None:
        """Let nobody else in: who asks now is refused at once, and asks elsewhere."""
        if self.waiting:
            self.waiting.hand_over()
            self.waiting = None
        self.listener.close()

    def _obey(self) -> None:
        if len(self.signals) > self.passed_on:
            self._close_listener()
            for number in self.signals[self.passed_on :]:
                drains = number == signal.SIGTERM and not self.passed_on and self.slots[0].number
                self._signal_all(DRAIN if drains else signal.SIGINT if self.passed_on else number)
                self.passed_on += 1
            if self.passed_on > 1:
                self.kill_at = time.monotonic() + END_SECONDS
        if time.monotonic() >= self.kill_at:
            self.kill_at = float("inf")
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        for slot in self.slots:
            if slot.process:
                os.kill(slot.process, number)

    def _start_due(self) -> None:
        for slot in self.slots:
            if not slot.process and slot.again <= time.monotonic():
                self._fork(slot)

    def _fork(self, slot: _Slot) -> None:
        ours, theirs = socket.socketpair()
        # A signal that comes in between waits, and then meets the handlers of the process that it was for.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDING, signal.SIGCHLD})
        try:
            slot.process = os.fork()
        except OSError as error:
            ours.close()
            theirs.close()
            slot.again = time.monotonic() + LONGEST_PAUSE_SECONDS
            pause = f"{LONGEST_PAUSE_SECONDS:.0f} s"
            _say("WARNING", f"Worker {slot.number} cannot be started ({error.strerror}); it is tried again in {pause}.")
        else:
            if not slot.process:
                ours.close()
                self._become(slot, theirs)
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                raise _ForkedError
            theirs.close()
            ours.setblocking(False)
            slot.channel, slot.serves_since = ours, None
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _become(self, slot: _Slot, channel: socket.socket) -> None:
        """Make this new process a worker, or the one that prepares."""
        global own
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setpgid(0, 0)  # Ctrl-C reaches the parent alone, which passes it on
        for each in (*self.wake, *(slot.channel for slot in self.slots)):
            if each:
                each.close()
        if self.waiting:
            self.waiting.forget()
        for each in (channel, self.listener):
            atexit.register(each.close)
        is_first = slot.number == 1 and not self.has_served
        own = Own(slot.number, self.number, self.listener, self.directory, channel, is_first)

    def _wait(self) -> None:
        """Until a signal, a worker's word, or the time to start one again or to kill."""
        times = [self.kill_at, *(slot.again for slot in self.slots if not slot.process and not self.signals)]
        poll = select.poll()
        poll.register(self.wake[0], select.POLLIN)
        by_descriptor = {slot.channel.fileno(): slot for slot in self.slots if slot.channel}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        wait_seconds = min(times) - time.monotonic()
        for descriptor, _ in poll.poll(None if wait_seconds == float("inf") else max(0, wait_seconds) * 1000 + 1):
            slot = by_descriptor.get(descriptor)
            if slot and slot.channel:
                self._hear(slot, slot.channel)
            else:
                self.wake[0].recv(4096)

    def _hear(self, slot: _Slot, channel: socket.socket) -> None:
        try:
            received = channel.recv(1)
        except OSError:
            received = b""
        if received != _SERVES:  # it ends
            channel.close()
            slot.channel = None
            return
        slot.serves_since, self.has_served = time.monotonic(), True
        if self.waiting:
            self.waiting.hand_over()
            self.waiting = None

    def _reap(self) -> None:
        for slot in list(self.slots):
            if slot.process and (found := os.waitpid(slot.process, os.WNOHANG))[0]:
                process, slot.process = slot.process, 0
                if slot.channel:
                    slot.channel.close()
                    slot.channel = None
                self._ended(slot, process, found[1])

    def _ended(self, slot: _Slot, process: int, status: int) -> None:
        """A process has ended: the one that prepared makes room for the workers; a worker is started again after a pause, which grows with
        its failures. If none can serve, everything ends."""
        if self.signals or slot.number == 0:
            self.status = self.status or status
            if not self.signals and status == 0:
                self.slots = [_Slot(number) for number in range(1, self.number + 1)]
            return
        now = time.monotonic()
        if slot.serves_since is not None and (status == 0 or now - slot.serves_since >= STEADY_SECONDS):
            slot.failures = 0
        slot.failures += status != 0 or slot.serves_since is None
        has_failed_to_start, slot.serves_since = slot.serves_since is None, None
        how = f"Worker {slot.number} (process {process}) {_how(status)}"
        if has_failed_to_start and slot.failures >= MOST_FAILED_STARTS and not any(each.serves_since for each in self.slots):
            _say("ERROR", f"{how}, {slot.failures} times in a row before it served: giving up.")
            self.status = status
            self.signals.append(signal.SIGTERM)
            return
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (slot.failures - 1), LONGEST_PAUSE_SECONDS) if slot.failures else 0.0
        slot.again = now + pause
        _say("WARNING" if status else "INFO", f"{how}. It is started again{f' in {pause:.0f} s' if pause else ''}.")


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with exit code {os.waitstatus_to_exitcode(status)}"


def _say(level: str, sentence: str) -> None:
    """A line of the log, as the product writes them, which is not loaded here."""
    now = datetime.now(UTC)
    if os.environ.get("CHATUI_LOG_FORMAT") == "json":
        fields = {"time": now.isoformat(timespec="milliseconds"), "level": level, "logger": __name__, "event": sentence}
        line = json.dumps(fields)
    else:
        line = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d} {level} {__name__}: {sentence}"
    with contextlib.suppress(OSError):  # a full disk, or a terminal that has gone
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def run(number: int, waiting: WaitingSocket) -> None:
    """Keep so many workers running on the socket of ``waiting``, and exit when they have ended. Returns only in a new process, which is
    ``own``, and goes on as ``serve``."""
    directory = Path(tempfile.mkdtemp(prefix="chatui-"))
    try:
        _Parent(number, waiting, waiting.listener, directory).run()
    except _ForkedError:
        return
