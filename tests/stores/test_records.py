"""The contract of what every kind of store keeps beside the log: records, claims, and the feed of changes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

import pytest
from hypothesis import settings

from tests.plans import plan_of
from tests.stores.claiming import Claiming
from tests.stores.contract import (
    LONG_ENOUGH,
    NEVER,
    NOW,
    QUESTION,
    WILD,
    WORKING,
    Act,
    Opener,
    answer,
    chain,
    contents,
    effect,
    planned,
    run_machine,
    told,
)
from tildone.base import HeadMoved, StoreError, replace
from tildone.log import needs
from tildone.log.kept import KeptSummary
from tildone.log.needs import ANSWERED_LIFETIME_MS, Need, NeedAnswered
from tildone.log.presence import PRESENCE_LIFETIME_MS, Presence
from tildone.log.store import Store
from tildone.plan.claims import LAPSED, Claim, Claimant, ClaimFence, Fenced
from tildone.plan.events import Actor, Event, PlanChanged, SessionHead
from tildone.stores.memory import MemoryStore

Result = TypeVar("Result")
LEASE = 60_000
ADA, BOB = Claimant("claude:ada"), Claimant("codex:bob")
AGENTS = ["", "ünï 😀", "half \ud83d a pair", "nul \x00 inside", "'; DROP TABLE --", "long " * 400]


def asks(name: str, since: int = NOW, session: str = "s") -> Act:
    return lambda store: store.records.ask(replace(QUESTION, id=name, since=since, session=session))


def answers(name: str, text: str, at: int = NOW) -> Act:
    return lambda store: store.records.answer(name, text, "Ada", at)


DAY_AGO = replace(WORKING, agent="day ago", beat=NOW - PRESENCE_LIFETIME_MS)
LATER = NOW + ANSWERED_LIFETIME_MS
SUMMARY = KeptSummary("a", "1/1")
STEPS: dict[str, Act] = {
    "a sign of life": lambda store: store.records.beat(Presence("codex:1", "other", beat=NOW)),
    "of another agent": lambda store: store.records.beat(WORKING),
    "its next one takes the place": lambda store: store.records.beat(replace(WORKING, session="t", doing="", why="?")),
    "an agent that leaves": lambda store: store.records.leave("codex:1"),
    "an agent that nobody knows": lambda store: store.records.leave("never"),
    "a sign of a day ago": lambda store: store.records.beat(DAY_AGO),
    "of longer ago": lambda store: store.records.beat(replace(DAY_AGO, agent="older", beat=DAY_AGO.beat - 1)),
    "old ones are removed with the next": lambda store: store.records.beat(WORKING),
    "a question of a session without events": asks("n1"),
    "is asked once": lambda store: store.records.ask(replace(QUESTION, text="rm -r /")),
    "the session begins": lambda store: chain(store, "s", "a", "b"),
    "the oldest question comes first": asks("n0", NOW + 1, "other"),
    "an answer": answers("n1", "once", NOW + 7),
    "the second is told of the first": answers("n1", "no", NOW + 8),
    "an answered question is not withdrawn": lambda store: store.records.withdraw("n1"),
    "another session begins": lambda store: chain(store, "other", "a"),
    "an empty answer is one": answers("n0", ""),
    "an open question": asks("n2"),
    "is withdrawn": lambda store: store.records.withdraw("n2"),
    "and has no answer": answers("n2", "no"),
    "a question that nobody asked is not withdrawn": lambda store: store.records.withdraw("never"),
    "and not answered": answers("never", "no"),
    "a question with an old answer": asks("old"),
    "its answer": answers("old", "no", NOW - 1),
    "an open question is never too old": asks("open", 1),
    "the next question removes answers of an hour ago": asks("n3", LATER, "other"),
    "a summary": lambda store: store.records.keep_summaries({"s": KeptSummary("a", "0/2"), "never": SUMMARY}),
    "of another session": lambda store: store.records.keep_summaries({"other": SUMMARY}),
    "is replaced by the next": lambda store: store.records.keep_summaries({"s": KeptSummary(None, "")}),
    "nothing is kept": lambda store: store.records.keep_summaries({}),
    "what is kept with a deleted session": lambda store: store.records.beat(
        replace(WORKING, agent="of s", session="s")
    ),
    "a claim": lambda store: store.records.claim("s", 1, ADA, LEASE).agent,
    "is renewed": lambda store: store.records.renew("s", ADA.agent, LEASE),
    "is given back": lambda store: store.records.release("s", ADA.agent),
    "another is not": lambda store: [store.records.claim(name, 1, ADA, LEASE).agent for name in ("s", "other")],
    "an event of a person is not fenced": lambda store: chain(store, "s", "c"),
    "an answer that is forgotten": answers("open", "no", LATER),
    "goes with its session, as all else": lambda store: store.delete("s", expected="c"),
    "a new session has nothing of it": lambda store: chain(store, "s", "a"),
    "the deletion of an empty session": lambda store: store.delete("never", expected=None),
}
"""What is kept beside the log, each step on what those above have left."""


def test_records_are_answered_as_the_store_in_memory_does(open_store: Opener) -> None:
    """Another object that has the store open is told of each question and answer, and of nothing else."""
    store, follower, memory = open_store(), open_store(), MemoryStore()
    begin, begun = follower.records.revision(), memory.records.revision()

    def everything(store: Store) -> object:
        questions = [store.records.need(name) for name in ("n0", "n1", "n2", "n3", "old", "open", "never")]
        found = list(store.records.presences()), list(store.records.needs()), dict(store.records.kept_summaries())
        claims = [[claim.task for claim in store.records.claims(name)] for name in ("s", "other")]
        return questions, found, claims, contents(store, "s", "other")

    assert answer(everything, store) == answer(everything, memory)
    for name, act in STEPS.items():
        assert effect(act, store, follower) == effect(act, memory, memory), name
        assert answer(everything, follower) == answer(everything, memory), name
        for since, known in ((begin, begun), (NEVER, NEVER)):
            assert told(follower, since) == told(memory, known), name


def test_any_text_survives(store: Store, open_store: Opener) -> None:
    presences = [Presence(each, each, each, each, each, each, 1, each, 1, 0.5, NOW) for each in WILD]
    questions = [Need(each, each, each, each, (each, each), NOW + n, each, each) for n, each in enumerate(WILD)]
    summaries = {each: KeptSummary(each, each) for each in WILD}
    for each, presence, need in zip(WILD, presences, questions, strict=True):
        chain(store, each, each)
        store.records.beat(presence)
        store.records.ask(need)
    store.records.keep_summaries(summaries)

    again = open_store()

    assert {each.agent: each for each in again.records.presences()} == {each.agent: each for each in presences}
    assert list(again.records.needs()) == [again.records.need(each) for each in WILD] == questions
    assert dict(again.records.kept_summaries()) == summaries
    assert [again.records.answer(each, each, each, NOW).answer for each in WILD] == WILD
    for left, each in enumerate(WILD, 1):
        again.records.leave(each)
        assert sorted(presence.agent for presence in store.records.presences()) == sorted(WILD[left:])


def at_once(open_store: Opener, act: Callable[[Store, int], Result]) -> list[Result]:
    """Let four users of a store act at the same time."""
    stores = [open_store() for _ in range(4)]
    start = Barrier(len(stores))

    def started(number: int) -> Result:
        start.wait(LONG_ENOUGH)
        return act(stores[number], number)

    with ThreadPoolExecutor(len(stores)) as pool:
        return list(pool.map(started, range(len(stores))))


def test_of_many_answers_at_once_one_wins(store: Store, open_store: Opener) -> None:
    store.records.ask(QUESTION)

    def answer(store: Store, number: int) -> str:
        try:
            return store.records.answer("n1", str(number), "Ada", NOW).answer
        except NeedAnswered as refused:
            return f"after {refused.need.answer}"

    answers = sorted(at_once(open_store, answer))

    decided = store.records.need("n1")
    assert decided is not None
    assert answers == [decided.answer, *[f"after {decided.answer}"] * 3]


def test_events_are_counted_in_equal_intervals(store: Store) -> None:
    for number, at in enumerate([99, 100, 109, 110, 150, 199, 200]):
        parent = store.session_head("s").head
        store.append("s", replace(planned(str(number), parent, "x"), at=at))
    store.move_head("s", SessionHead("1"), expected="6")
    chain(store, "other", "a")

    assert list(store.records.density("s", 100, 200, 10)) == [2, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert list(store.records.density("s", 100, 200, 1)) == [5]
    assert list(store.records.density("s", 100, 103, 7)) == [1, 0, 0, 0, 0, 0, 0]
    assert list(store.records.density("s", 200, 100, 2)) == [0, 0]
    assert store.records.density("s", 0, 2**62, 1000)[0] == 7
    assert list(store.records.density("never", 0, 10, 3)) == [0, 0, 0]


def test_open_and_answered_questions_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bounds, those that were asked or answered first are removed."""
    monkeypatch.setattr(needs, "MAX_ANSWERED", 2)
    monkeypatch.setattr(needs, "MAX_OPEN", 3)
    for number in range(4):
        store.records.ask(replace(QUESTION, id=f"a{number}"))
        store.records.answer(f"a{number}", "no", "Ada", NOW + number)
    for number in range(5):
        store.records.ask(replace(QUESTION, id=f"o{number}", since=NOW + number))

    assert [number for number in range(4) if store.records.need(f"a{number}")] == [2, 3]
    assert [need.id for need in store.records.needs()] == ["o2", "o3", "o4"]


def event(name: str, parent: str | None) -> Event:
    return Event(name, parent, 1, Actor.AGENT, PlanChanged(plan_of(name)))


def fence(by: Claimant, *changes: int, starts: tuple[int, ...] = (), active: tuple[int, ...] = ()) -> ClaimFence:
    return ClaimFence(by, LEASE, frozenset({*changes, *starts}), frozenset(starts), frozenset({*active, *starts}))


def holders(store: Store) -> dict[int, tuple[str, int]]:
    return {claim.task: (claim.agent, claim.epoch) for claim in store.records.claims("s") if claim.is_held}


def test_a_claim_is_kept_with_all_that_is_known_of_its_holder(store: Store, open_store: Opener) -> None:
    ada = Claimant("claude:ada", "/trees/a", "feature", "host", 41, 7)

    claim = store.records.claim("s", 3, ada, LEASE)

    assert (claim.task, claim.epoch, claim.holder, claim.before, claim.is_held) == (3, 1, ada, None, True)
    [read] = open_store().records.claims("s")
    assert (read.task, read.epoch, read.until, read.holder) == (3, 1, claim.until, ada)
    assert 0 < read.remaining <= LEASE
    assert open_store().records.claim("s", 3, BOB, LEASE).until == claim.until
    assert store.records.claim("s", 3, ada, 2 * LEASE).until > claim.until
    store.records.lapse("s", ada.agent)
    assert [claim.until for claim in store.records.claims("s")] == [LAPSED]
    for name in AGENTS:
        agent = Claimant(name, name, name)
        store.records.claim(name, 1, agent, LEASE)

        assert [claim.holder for claim in store.records.claims(name)] == [agent]
        assert store.records.claim(name, 1, ADA, LEASE).holder == agent
        store.records.release(name, name)
        assert list(store.records.claims(name)) == [], name


def test_claims_follow_their_model(store: Store) -> None:
    run_machine(lambda: Claiming(store), settings(max_examples=25, stateful_step_count=20))


def test_an_event_and_what_its_reader_has_seen_are_written_with_its_claims_or_not_at_all(
    store: Store, open_store: Opener
) -> None:
    append = store.records.append_fenced
    store.records.claim("s", 3, BOB, LEASE)

    [claim] = append("s", event("a", None), "reader", fence(ADA, 2, starts=(1,)))

    assert (claim.task, claim.agent, claim.epoch, claim.is_held) == (1, ADA.agent, 1, True)
    assert holders(open_store()) == {1: (ADA.agent, 1), 3: (BOB.agent, 1)}
    for error, text, act in (
        (HeadMoved, "s", partial(append, "s", event("b", None), "reader", fence(ADA, starts=(2,)))),
        (StoreError, "already", partial(append, "s", event("a", "a"), "reader", fence(ADA, starts=(2,)))),
        (Fenced, "#3", partial(append, "s", event("b", "a"), "reader", fence(ADA, 3, starts=(2,)))),
    ):
        with pytest.raises(error, match=text):
            act()
        assert holders(open_store()) == {1: (ADA.agent, 1), 3: (BOB.agent, 1)}
        assert store.session_head("s").head == store.records.seen("s", "reader") == "a"


def test_an_agent_whose_task_has_passed_on_is_refused_until_it_knows(store: Store) -> None:
    """Whatever it changes, also if its successor has closed the task at once: it acts on what it knew before."""
    store.records.claim("s", 1, ADA, 0)
    [claim] = store.records.append_fenced("s", event("a", None), "", fence(BOB, 1))

    with pytest.raises(Fenced) as refused:
        store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 2))

    assert (claim.agent, claim.epoch, claim.before, list(store.records.claims("s"))) == (BOB.agent, 2, ADA, [])
    assert [(claim.task, claim.agent, claim.epoch) for claim in refused.value.lost] == [(1, BOB.agent, 2)]
    assert (refused.value.held, store.session_head("s").head) == ((), "a")
    store.records.release("s", ADA.agent, frozenset({1}))
    store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 2))
    assert store.session_head("s").head == "b"


def test_the_claims_that_were_passed_on_are_bounded(store: Store) -> None:
    for number in range(12):
        store.records.claim("s", 1, Claimant(f"a{number}"), 0)

    told = [number for number in range(12) if store.records.renew("s", f"a{number}", 0)]

    assert told == list(range(3, 11))
    assert store.records.claim("s", 1, ADA, LEASE).epoch == 13


def test_of_many_that_claim_a_task_at_once_one_gets_it(store: Store, open_store: Opener) -> None:
    def claim(store: Store, number: int) -> list[Claim]:
        return [store.records.claim("s", task, Claimant(f"a{number}"), LEASE) for task in range(5)]

    for claims in zip(*at_once(open_store, claim), strict=True):
        assert len({(each.agent, each.epoch) for each in claims}) == 1
    assert holders(store).keys() == set(range(5))


def test_sessions_and_heads_may_have_any_name(store: Store) -> None:
    for name in (*WILD, "long " * 1000):
        before = store.records.revision()
        chain(store, name, f"{name}x")
        written = told(store, before)
        store.delete(name, expected=f"{name}x")

        assert (written, told(store, before)) == ([(name, f"{name}x", True)], [(name, None, False)])


def test_waiting_for_any_change_ends_after_the_timeout_or_with_an_answer(store: Store, open_store: Opener) -> None:
    store.records.ask(QUESTION)
    other = open_store()
    revision = store.records.revision()
    assert not store.records.wait_any(revision, 0.02)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.records.wait_any, revision, LONG_ENOUGH)

        other.records.answer("n1", "no", "Ada", NOW)

        assert waiting.result(LONG_ENOUGH)


def test_every_waiter_wakes_at_a_change_of_any_session(open_store: Opener) -> None:
    stores = [open_store(), open_store()]
    in_step = Barrier(7, timeout=LONG_ENOUGH)

    def follow(store: Store) -> list[bool]:
        woken = []
        for _ in range(8):
            revision = store.records.revision()
            in_step.wait()
            woken.append(store.records.wait_any(revision, LONG_ENOUGH))
            in_step.wait()
        return woken

    with ThreadPoolExecutor(6) as pool:
        following = [pool.submit(follow, store) for store in stores for _ in range(3)]
        for number in range(8):
            in_step.wait()
            chain(stores[0], f"session {number % 3}", str(number))
            in_step.wait()

    assert [follower.result() for follower in following] == [[True] * 8] * 6


def test_a_follower_of_concurrent_writers_misses_no_change(open_store: Opener) -> None:
    """It knows the last head of every session, though it never reads one."""
    follower, writers = open_store(), [open_store(), open_store()]

    def write(worker: int) -> None:
        chain(writers[worker % 2], f"session {worker}", *(f"{worker}-{number}" for number in range(20)))

    def follow() -> None:
        heads: dict[str, str | None] = {}
        known = follower.records.revision()
        while heads != {f"session {worker}": f"{worker}-19" for worker in range(4)}:
            assert follower.records.wait_any(known, LONG_ENOUGH), heads
            revision = follower.records.revision()
            heads |= {change.session: change.head for change in follower.records.changed(known)}
            known = revision

    with ThreadPoolExecutor(5) as pool:
        following = pool.submit(follow)
        list(pool.map(write, range(4)))
        following.result(2 * LONG_ENOUGH)
