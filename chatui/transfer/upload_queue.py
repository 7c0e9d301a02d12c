"""The upload queue: each person's files are read one after another, so that one person's uploads do not delay other people's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

MAX_WAITING_PER_PERSON = 12
"""The most files of one person that wait in this process at once. A page sends up to ten."""
MAX_WAITING = 100
"""The most waiting files of all people together. Waiting files are on disk."""
MAX_IN_MEMORY = 3
"""The most files in memory at once. Each may take 20 MB, and several times as much while it is stored."""


class QueueFullError(Exception):
    """Too many files are in the queue: of this person, or of all people together."""


class UploadQueue:
    """One queue of uploads for each person. ``memory_slots``: a semaphore, to be held while a file is in memory."""

    def __init__(self, max_per_person: int = MAX_WAITING_PER_PERSON, max_waiting: int = MAX_WAITING) -> None:
        self.memory_slots = threading.BoundedSemaphore(MAX_IN_MEMORY)
        self._max_per_person = max_per_person
        self._max_waiting = max_waiting
        self._mutex = threading.Lock()
        self._waiting: dict[UUID, tuple[threading.Lock, int]] = {}

    @contextmanager
    def place(self, person_id: UUID) -> Iterator[threading.Lock]:
        """A place in the queue for one file. The file is read while the returned lock is held.

        Raises:
            QueueFullError: the queue is full.
        """
        with self._mutex:
            lock, count = self._waiting.get(person_id, (threading.Lock(), 0))
            if count >= self._max_per_person or sum(each for _, each in self._waiting.values()) >= self._max_waiting:
                raise QueueFullError
            self._waiting[person_id] = (lock, count + 1)
        try:
            yield lock
        finally:
            with self._mutex:
                _, count = self._waiting.pop(person_id)
                if count > 1:
                    self._waiting[person_id] = (lock, count - 1)
