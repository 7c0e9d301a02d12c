"""The queue of turns and the limits of groups: who waits, in which order, which places are reported, and that no slot is lost."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from hypothesis import given, settings
from hypothesis import strategies as st

from chatui.env import Environment
from chatui.turns.slots import NoSpareSlotError, ProgramLimits, QueueFullError, Slots
from tests.support import constants
from tests.support.cases import example_count
from tests.support.environment import change
from tests.support.system_checks import said


async def hold(slots: Slots, name: str, done: list[str], places: dict[str, list[int]], until: asyncio.Event) -> None:
    async with slots.acquire(places.setdefault(name, []).append):
        done.append(name)
        await until.wait()


async def test_the_queue_is_first_in_first_out_and_reports_places(monkeypatch: pytest.MonkeyPatch) -> None:
    constants.change(monkeypatch, place_seconds=0.01)
    slots, done, places = Slots(1), list[str](), dict[str, list[int]]()
    ends = {name: asyncio.Event() for name in "abcd"}
    tasks = []
    for name in "abcd":
        tasks.append(asyncio.create_task(hold(slots, name, done, places, ends[name])))
        await asyncio.sleep(0)
    assert (done, places) == (["a"], {"a": [], "b": [1], "c": [2], "d": [3]})
    for name in "abc":
        ends[name].set()
        await asyncio.sleep(0.03)
    assert done == list("abcd")
    assert places["d"][-1] == 0 and sorted(places["d"], reverse=True) == places["d"], "a place in the queue only improves"
    assert set(places["d"]) == {3, 2, 1, 0}
    ends["d"].set()
    await asyncio.gather(*tasks)


async def test_who_has_waited_longer_elsewhere_goes_first_and_nobodys_place_gets_worse() -> None:
    slots, order, places = Slots(1), list[str](), dict[str, list[int]]()

    async def ask(name: str, waited: float = 0.0) -> None:
        async with slots.acquire(places.setdefault(name, []).append, waited=waited):
            order.append(name)
            await asyncio.sleep(0)

    async with slots.acquire(print):
        tasks = []
        for name, waited in {"new": 0.0, "old": 30.0, "newer": 0.0, "older": 60.0, "between": 40.0}.items():
            tasks.append(asyncio.create_task(ask(name, waited)))
            await asyncio.sleep(0)
        assert places == {"new": [1], "old": [1], "newer": [3], "older": [1], "between": [2]}
    await asyncio.gather(*tasks)
    assert order == ["older", "between", "old", "new", "newer"]
    assert all(known == sorted(known, reverse=True) for known in places.values()) and is_whole(slots, 1)


def is_whole(slots: Slots, free: int) -> bool:
    """Whether nobody waits, and exactly so many slots are free."""
    return slots.has_room(free) and not slots.has_room(free + 1)


LIMITS = {"students": 2, "staff": 1, "guests": 1}


@dataclass(eq=False)
class Person:
    groups: frozenset[str]
    places: list[int] = field(default_factory=list)
    runs: bool = False
    end: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    async def ask(self, slots: Slots) -> None:
        async with slots.acquire(self.places.append, self.groups):
            self.runs = True
            try:
                await self.end.wait()
            finally:
                self.runs = False


class Queue:
    """People who ask, finish and give up, with the invariants checked after each step."""

    def __init__(self, most: int, limits: dict[str, int]) -> None:
        self.most, self.limits = most, limits
        self.slots = Slots(most, limits)
        self.people: list[Person] = []

    async def ask(self, *groups: str) -> Person:
        person = Person(frozenset(groups))
        person.task = asyncio.create_task(person.ask(self.slots))
        self.people.append(person)
        await self.settle()
        return person

    async def end(self, person: Person) -> None:
        person.end.set()
        await self.settle()

    async def give_up(self, person: Person) -> None:
        assert person.task is not None
        person.task.cancel()
        await self.settle()

    async def step(self, what: str, which: object) -> None:
        people = {"end": self.running, "give up": self.people}.get(what, [])
        if isinstance(which, set):
            await self.ask(*sorted(which))
        elif what == "tell":
            await self.settle()  # which sends the places, too: UPDATE_SECONDS is 0
            assert all(person.places[-1] <= len(self.waiting) for person in self.waiting)
        elif isinstance(which, int) and people:
            await (self.end if what == "end" else self.give_up)(people[which % len(people)])

    async def settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)
        self.people = [person for person in self.people if person.task is None or not person.task.done()]

    @property
    def running(self) -> list[Person]:
        return [person for person in self.people if person.runs]

    @property
    def waiting(self) -> list[Person]:
        return [person for person in self.people if not person.runs]

    def check(self) -> None:
        by_group = Counter(group for person in self.running for group in person.groups if group in self.limits)
        assert len(self.running) <= self.most and all(count <= self.limits[group] for group, count in by_group.items())
        if not self.waiting:
            assert is_whole(self.slots, self.most - len(self.running)), "a slot was lost or added"
        left = {group: limit - by_group[group] for group, limit in self.limits.items()}
        for person in self.waiting:
            limited_groups = person.groups & self.limits.keys()
            assert len(self.running) == self.most or any(left[group] <= 0 for group in limited_groups), "somebody waits for nothing"
            for group in limited_groups:
                left[group] -= 1
            assert person.places and person.places == sorted(person.places, reverse=True), "a place in the queue only improves"
            assert person.places[-1] >= 1
            later = self.people[self.people.index(person) :]
            assert not any(other.runs and other.groups == person.groups for other in later), "somebody was overtaken"


async def test_the_place_in_the_process_queue_ignores_those_waiting_for_their_group(monkeypatch: pytest.MonkeyPatch) -> None:
    constants.change(monkeypatch, place_seconds=0.01)
    queue = Queue(2, {"students": 1})
    student, other = await queue.ask("students"), await queue.ask()
    waiting = [await queue.ask("students") for _ in range(3)]
    late, later = await queue.ask(), await queue.ask()
    assert [person.places[0] for person in (*waiting, late, later)] == [1, 2, 3, 1, 2]
    await queue.end(other)
    assert late.runs and not later.runs and not waiting[0].runs
    await queue.end(student)
    assert waiting[0].runs, "those who came first are first once their group has room"
    async with asyncio.timeout(20):
        while waiting[1].places[-1] != 1:
            await asyncio.sleep(0.01)
    queue.check()
    for person in list(queue.people):
        await queue.end(person)
    await queue.settle()
    assert not queue.people


async def test_whoever_gives_up_at_the_moment_of_being_admitted_gives_the_slot_back() -> None:
    queue = Queue(1, {})
    first, second = await queue.ask(), await queue.ask()
    first.end.set()
    await asyncio.sleep(0)
    assert not second.runs and is_whole(queue.slots, 0), "the premise: it has the slot and does not know it yet"
    await queue.give_up(second)
    assert not queue.people and is_whole(queue.slots, 1)


async def test_a_member_of_two_groups_is_not_starved() -> None:
    queue = Queue(10, {"students": 1, "staff": 1})
    student, staff = await queue.ask("students"), await queue.ask("staff")
    both = await queue.ask("students", "staff")
    for _ in range(5):
        behind = await queue.ask("students")
        await queue.end(student)
        student = behind
        if both.runs:
            break
    assert not behind.runs, "the place is reserved for the first in the queue"
    await queue.end(staff)
    assert both.runs
    await queue.end(both)
    assert behind.runs


ADA, FIRST_KEY, SECOND_KEY = uuid4(), uuid4(), uuid4()


class Answers:
    """Answers of people and programs in one queue, by the names of those that have begun."""

    def __init__(self, most: int, groups: dict[str, int] | None = None) -> None:
        self.most = most
        self.slots = Slots(most, groups)
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, name: str, program: ProgramLimits | None = None, *groups: str) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, program, groups))
        await self._settle()

    async def _hold(self, name: str, program: ProgramLimits | None, groups: tuple[str, ...]) -> None:
        async with self.slots.acquire(lambda place: None, groups, program=program):
            self.begun.append(name)
            await self.ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await self._settle()

    async def finish(self) -> None:
        for end in self.ends.values():
            end.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        assert is_whole(self.slots, self.most)
        for owner in (ADA, uuid4()):  # each may have all slots, and none of its requests is counted any more
            async with AsyncExitStack() as held:
                for _ in range(self.most):
                    held.callback(self.slots.enter(owner, self.most, 0))
                    await held.enter_async_context(self.slots.acquire(ignore_place, program=ProgramLimits(owner, self.most, seconds=0.05)))

    async def _settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)


async def test_programs_wait_in_order_behind_people_and_leave_room_to_them() -> None:
    answers, mine = Answers(2), ProgramLimits(ADA, at_once=1)
    for name in ("first", "second", "third"):
        await answers.ask(name, mine)
    await answers.ask("person")
    assert answers.begun == ["first", "person"], "the second waits for the limit of programs, and blocks nobody"
    await answers.ask("late person")
    await answers.end("first")
    assert answers.begun[2:] == ["late person"], "people come first, however long a program has waited"
    await answers.end("person", "late person", "second")
    assert answers.begun[3:] == ["second", "third"]
    await answers.finish()


async def test_a_key_that_asks_for_much_does_not_hold_up_another() -> None:
    answers = Answers(10)
    much, other = ProgramLimits(ADA, 2, FIRST_KEY), ProgramLimits(ADA, 2, SECOND_KEY)
    for number in range(5):
        await answers.ask(f"much {number}", much)
    await answers.ask("other", other)
    await answers.end("much 0")
    assert answers.begun == ["much 0", "much 1", "other"]
    await answers.finish()


async def test_a_key_has_its_own_limit_and_a_group_its_own() -> None:
    answers, narrow = Answers(10, {"staff": 2}), ProgramLimits(ADA, 5, FIRST_KEY, key_at_once=1)
    await answers.ask("one", narrow)
    await answers.ask("two", narrow)
    for name in ("a", "b", "c"):
        await answers.ask(name, ProgramLimits(uuid4(), 5), "staff")
    assert answers.begun == ["one", "a", "b"]
    await answers.ask("person", None, "staff")
    await answers.end("a")
    assert answers.begun[3:] == ["person"]
    await answers.end("one")
    assert answers.begun[4:] == ["two"]
    await answers.finish()


async def test_a_program_waits_no_longer_than_it_may_and_is_told_when_to_come_again() -> None:
    answers, mine = Answers(10), ProgramLimits(ADA, at_once=1, seconds=0.05)
    leave = [answers.slots.enter(ADA, 1, 1) for _ in range(2)]
    with pytest.raises(QueueFullError) as full:
        answers.slots.enter(ADA, 1, 1)
    assert full.value.seconds == 20, "two answers are expected to take ten seconds each, as long as none was measured"
    answers.slots.enter(uuid4(), 1, 1)()  # another person's programs may wait
    other = uuid4()
    leave_other = answers.slots.enter(ADA, 1, 1, other)  # and one request of a key that has none
    with pytest.raises(QueueFullError):
        answers.slots.enter(ADA, 1, 1, other)
    leave_other()
    leave_other()
    answers.slots.enter(ADA, 1, 1, other)()
    await answers.ask("first", mine)
    await answers.ask("second", mine)
    with pytest.raises(QueueFullError):
        await answers.tasks["second"]
    for each in (*leave, *leave):  # a second call changes nothing
        each()
    answers.slots.enter(ADA, 1, 0)()
    await answers.ask("third", ProgramLimits(ADA, 1))
    answers.tasks["third"].cancel()
    await answers.end("first")
    assert answers.begun == ["first"], "whoever gives up leaves the queue"
    await answers.finish()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sets(st.sampled_from(["students", "staff", "guests", "others"]), max_size=3)),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("give up"), st.integers(0, 30)),
        st.tuples(st.just("tell"), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=example_count(150), deadline=None)
@given(STEPS, st.integers(1, 5))
def test_random_sequences_lose_no_slot_and_starve_nobody(steps: list, most: int) -> None:
    async def play() -> None:
        queue = Queue(most, LIMITS)
        for what, which in steps:
            await queue.step(what, which)
            queue.check()
        for _ in range(len(queue.people)):
            await queue.end(queue.running[0])
            queue.check()
        assert not queue.people and is_whole(queue.slots, most)
        for group, limit in LIMITS.items():
            members = [await queue.ask(group) for _ in range(limit + 1)]
            assert [each.runs for each in members] == [number < min(limit, most) for number in range(limit + 1)]
            for each in members:
                await queue.end(each)

    with pytest.MonkeyPatch.context() as patch:
        constants.change(patch, place_seconds=0)
        asyncio.run(play())


def test_a_group_limit_is_a_positive_number() -> None:
    assert Environment(group_answers_at_once="students=20, on call = 5 ,a=b=1").group_answers_at_once == {  # type: ignore[arg-type]
        "students": 20,
        "on call": 5,
        "a=b": 1,
    }
    for wrong in ("students", "students=0", "students=-1", "students=many", "=5"):
        with pytest.raises(ValueError):
            Environment(group_answers_at_once=wrong)  # type: ignore[arg-type]


@pytest.mark.django_db
def test_a_system_check_names_unknown_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said("W018") == []
    change(monkeypatch, {"group_answers_at_once": {"students": 1, "stuff": 2}})
    Group.objects.create(name="students")
    assert ["'stuff'" in found.msg for found in said("W018")] == [True]


# Spare slots, for low-priority work: they never delay an answer and are never lost.


def ignore_place(place: int) -> None:
    """A callback that does nothing."""


async def spare(slots: Slots, until: asyncio.Event) -> str:
    try:
        async with slots.spare():
            await until.wait()
            return "done"
    except NoSpareSlotError:
        return "given up"


async def test_an_answer_takes_the_last_slot_at_once() -> None:
    slots, end = Slots(2), asyncio.Event()
    first = asyncio.create_task(spare(slots, end))
    second = asyncio.create_task(spare(slots, end))
    await asyncio.sleep(0)
    async with AsyncExitStack() as answers:
        await answers.enter_async_context(slots.acquire(ignore_place))
        assert await second == "given up" and not first.done()
        await answers.enter_async_context(slots.acquire(ignore_place))
        assert await first == "given up"
        assert await spare(slots, end) == "given up", "there is none while answers need all"
    end.set()
    assert await spare(slots, end) == "done", "and there is one again"


async def test_there_is_no_spare_slot_while_somebody_waits() -> None:
    slots, end = Slots(2, {"students": 1}), asyncio.Event()
    end.set()
    async with slots.acquire(ignore_place, ["students"]):
        waiting = asyncio.create_task(slots.acquire(ignore_place, ["students"]).__aenter__())
        await asyncio.sleep(0)
        assert await spare(slots, end) == "given up"
    await waiting
    assert await spare(slots, end) == "done", "the premise: one of two is free"


async def test_cancellation_by_somebody_else_propagates() -> None:
    slots = Slots(1)
    task = asyncio.create_task(spare(slots, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    end = asyncio.Event()
    end.set()
    assert await spare(slots, end) == "done", "its place is free"
