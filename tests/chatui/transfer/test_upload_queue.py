"""The line in which files wait: one of a person at a time, others beside it, and not too many."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest

from chatui.transfer.upload_queue import QueueFullError, UploadQueue


def test_files_of_a_person_wait_for_one_another_and_for_nobody_else() -> None:
    line, ada, bela = UploadQueue(), uuid4(), uuid4()
    inside, goes_on = threading.Event(), threading.Event()

    def first() -> None:
        with line.place(ada) as lock, lock:
            inside.set()
            assert goes_on.wait(20)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(20)
    with line.place(ada) as lock:
        assert not lock.acquire(blocking=False), "hers"
    with line.place(bela) as lock:
        assert lock.acquire(blocking=False), "another one's"
    goes_on.set()
    thread.join(20)
    with line.place(ada) as lock:
        assert lock.acquire(blocking=False), "the first one is done"


def test_too_many_at_once_are_refused_and_none_is_remembered() -> None:
    line, ada = UploadQueue(max_per_person=2), uuid4()
    with line.place(ada), line.place(ada):
        with pytest.raises(QueueFullError), line.place(ada):
            pass
        with line.place(uuid4()):
            pass
    assert line._waiting == {}


def test_too_many_of_all_people_are_refused() -> None:
    line = UploadQueue(max_waiting=2)
    with line.place(uuid4()), line.place(uuid4()), pytest.raises(QueueFullError), line.place(uuid4()):
        pass
