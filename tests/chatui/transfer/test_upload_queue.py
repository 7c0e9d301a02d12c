"""The upload queue: one file of a person at a time, other people's at the same time, and a limit."""

import threading
from uuid import uuid4

import pytest

from chatui.transfer.files import UploadQueue, UploadRefusedError


def test_files_wait_only_for_other_files_of_the_same_person() -> None:
    line, ada, bela = UploadQueue(), uuid4(), uuid4()
    inside, may_continue = threading.Event(), threading.Event()

    def first() -> None:
        with line.place(ada) as lock, lock:
            inside.set()
            assert may_continue.wait(20)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(20)
    with line.place(ada) as lock:
        assert not lock.acquire(blocking=False), "hers"
    with line.place(bela) as lock:
        assert lock.acquire(blocking=False), "another one's"
    may_continue.set()
    thread.join(20)
    with line.place(ada) as lock:
        assert lock.acquire(blocking=False), "the first one is done"


def test_too_many_files_of_one_person_are_refused() -> None:
    line, ada = UploadQueue(max_per_person=2), uuid4()
    with line.place(ada), line.place(ada):
        with pytest.raises(UploadRefusedError), line.place(ada):
            pass
        with line.place(uuid4()):
            pass
    assert line._waiting == {}


def test_too_many_files_of_all_people_are_refused() -> None:
    line = UploadQueue(max_waiting=2)
    with line.place(uuid4()), line.place(uuid4()), pytest.raises(UploadRefusedError), line.place(uuid4()):
        pass
