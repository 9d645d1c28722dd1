"""The contract of what every kind of store keeps beside the log: records, claims, and the feed of changes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest

from tests.plans import plan_of
from tests.stores.contract import LONG_ENOUGH, NOW, QUESTION, WILD, WORKING, Opener, chain, is_refused, planned
from tildone.base import HeadMoved, StoreError, UnknownEvent, UnknownNeed, replace
from tildone.log import needs
from tildone.log.kept import KeptSummary
from tildone.log.needs import ANSWERED_LIFETIME_MS, Need, NeedAnswered
from tildone.log.presence import PRESENCE_LIFETIME_MS, Presence
from tildone.log.store import Store
from tildone.plan.claims import LAPSED, Claim, Claimant, ClaimFence, Fenced
from tildone.plan.events import Actor, Event, PlanChanged, SessionChange, SessionHead


def sessions_after(store: Store, revision: int) -> list[str]:
    return [change.session for change in store.records.changed(revision)]


def test_a_new_store_keeps_nothing(store: Store) -> None:
    assert not store.records.presences()
    assert not store.records.needs()
    assert dict(store.records.kept_summaries()) == {}
    assert store.records.need("n1") is None
    assert list(store.records.density("s", 0, 10, 3)) == [0, 0, 0]


def test_an_agent_has_one_presence_its_newest(store: Store, open_store: Opener) -> None:
    store.records.beat(Presence("codex:1", "other", beat=NOW))
    store.records.beat(WORKING)
    resting = replace(WORKING, session="t", doing="", why="asked", beat=NOW + 1)

    store.records.beat(resting)

    assert list(open_store().records.presences()) == [resting, Presence("codex:1", "other", beat=NOW)]


def test_an_agent_that_leaves_has_no_presence(store: Store, open_store: Opener) -> None:
    store.records.beat(WORKING)
    store.records.beat(replace(WORKING, agent="codex:1"))

    store.records.leave("claude:5f0c")
    store.records.leave("never")

    assert list(open_store().records.presences()) == [replace(WORKING, agent="codex:1")]


def test_a_sign_of_life_removes_those_of_more_than_a_day_ago(store: Store) -> None:
    last = replace(WORKING, agent="last", beat=NOW - PRESENCE_LIFETIME_MS)
    store.records.beat(last)
    store.records.beat(replace(last, agent="older", beat=last.beat - 1))

    store.records.beat(WORKING)

    assert list(store.records.presences()) == [WORKING, last]


def test_presence_and_summaries_have_no_revision(store: Store) -> None:
    chain(store, "s", "a")
    before = store.records.revision()

    store.records.beat(WORKING)
    store.records.leave(WORKING.agent)
    store.records.keep_summaries({"s": KeptSummary("a", "1/2")})

    assert store.records.revision() == before


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


def test_open_questions_are_listed_the_oldest_first(store: Store, open_store: Opener) -> None:
    newer = replace(QUESTION, id="n0", session="other", since=NOW + 1)
    store.records.ask(newer)
    store.records.ask(QUESTION)

    assert list(open_store().records.needs()) == [QUESTION, newer]


def test_a_question_is_asked_once(store: Store) -> None:
    store.records.ask(QUESTION)
    before = store.records.revision()

    store.records.ask(replace(QUESTION, text="rm -r /"))

    assert list(store.records.needs()) == [QUESTION]
    assert store.records.revision() == before


def test_the_first_answer_wins_and_the_second_is_told_so(store: Store, open_store: Opener) -> None:
    store.records.ask(QUESTION)

    first = store.records.answer("n1", "once", "Ada", NOW + 7)
    with pytest.raises(NeedAnswered, match="once") as refused:
        open_store().records.answer("n1", "no", "Bob", NOW + 8)

    assert first == replace(QUESTION, answer="once", answered_by="Ada", answered_at=NOW + 7)
    assert refused.value.need == store.records.need("n1") == first
    assert list(store.records.needs()) == []


def test_an_empty_answer_is_an_answer(store: Store) -> None:
    store.records.ask(QUESTION)

    store.records.answer("n1", "", "Ada", NOW)

    assert list(store.records.needs()) == []


def test_of_many_answers_at_once_one_wins(store: Store, open_store: Opener) -> None:
    store.records.ask(QUESTION)
    stores = [open_store() for _ in range(4)]
    start = Barrier(len(stores))

    def answer(number: int) -> str:
        start.wait(LONG_ENOUGH)
        try:
            return stores[number].records.answer("n1", str(number), "Ada", NOW).answer
        except NeedAnswered as refused:
            return f"after {refused.need.answer}"

    with ThreadPoolExecutor(len(stores)) as pool:
        answers = sorted(pool.map(answer, range(len(stores))))

    decided = store.records.need("n1")
    assert decided is not None
    assert answers == [decided.answer, *[f"after {decided.answer}"] * 3]


def test_only_an_open_question_is_withdrawn(store: Store) -> None:
    store.records.ask(QUESTION)
    store.records.ask(replace(QUESTION, id="n2"))
    store.records.answer("n2", "no", "Ada", NOW)

    for need in ("n1", "n2", "never"):
        store.records.withdraw(need)

    assert store.records.need("n1") is None
    assert store.records.need("n2") is not None


def test_what_was_never_asked_or_was_withdrawn_cannot_be_answered(store: Store) -> None:
    store.records.ask(QUESTION)
    store.records.withdraw("n1")

    for need in ("never", "n1"):
        with pytest.raises(UnknownNeed, match=need):
            store.records.answer(need, "no", "Ada", NOW)


def test_questions_answers_and_withdrawals_have_a_revision(store: Store, open_store: Opener) -> None:
    chain(store, "s", "a")
    chain(store, "other", "a")
    follower = open_store()
    for change in (
        lambda: store.records.ask(QUESTION),
        lambda: store.records.answer("n1", "no", "Ada", NOW),
        lambda: store.records.ask(replace(QUESTION, id="n2")),
        lambda: store.records.withdraw("n2"),
    ):
        before = follower.records.revision()
        change()

        [told] = follower.records.changed(before)
        assert (told.session, told.head, told.exists) == ("s", "a", True)
        assert follower.records.wait_any(before, LONG_ENOUGH)


def test_what_is_not_changed_has_no_revision(store: Store) -> None:
    store.records.ask(QUESTION)
    store.records.answer("n1", "no", "Ada", NOW)
    before = store.records.revision()

    store.records.withdraw("n1")
    store.records.withdraw("never")
    with pytest.raises(NeedAnswered):
        store.records.answer("n1", "once", "Ada", NOW)

    assert store.records.revision() == before


def test_a_session_without_events_can_have_a_question(store: Store) -> None:
    before = store.records.revision()

    store.records.ask(QUESTION)

    [told] = store.records.changed(before)
    assert (told.session, told.head, told.exists) == ("s", None, False)
    chain(store, "s", "a")
    assert [change.exists for change in store.records.changed(before)] == [True]
    assert list(store.records.needs()) == [QUESTION]


def test_waiting_for_any_change_hears_an_answer(store: Store, open_store: Opener) -> None:
    store.records.ask(QUESTION)
    other = open_store()
    revision = store.records.revision()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.records.wait_any, revision, LONG_ENOUGH)

        other.records.answer("n1", "no", "Ada", NOW)

        assert waiting.result(LONG_ENOUGH)


def test_answers_of_more_than_an_hour_ago_are_removed(store: Store) -> None:
    for name, at in (("old", NOW - 1), ("last", NOW)):
        store.records.ask(replace(QUESTION, id=name))
        store.records.answer(name, "no", "Ada", at)
    store.records.ask(replace(QUESTION, id="open", since=1))
    before = store.records.revision()

    store.records.ask(replace(QUESTION, session="t", since=NOW + ANSWERED_LIFETIME_MS))

    assert store.records.need("old") is None
    assert store.records.need("last") is not None
    assert store.records.need("open") is not None
    assert sessions_after(store, before) == ["t"]


def test_a_deleted_session_loses_what_is_kept_of_it(store: Store, open_store: Opener) -> None:
    for name in ("s", "other"):
        chain(store, name, "a")
        store.records.beat(replace(WORKING, agent=name, session=name))
        store.records.ask(replace(QUESTION, id=name, session=name))
        store.records.ask(replace(QUESTION, id=f"{name} answered", session=name))
        store.records.answer(f"{name} answered", "no", "Ada", NOW)
        store.records.keep_summaries({name: KeptSummary("a", name)})

    store.delete("s", expected="a")

    again = open_store()
    assert [each.agent for each in again.records.presences()] == ["other"]
    assert [need.id for need in again.records.needs()] == ["other"]
    assert again.records.need("s answered") is None
    assert dict(again.records.kept_summaries()) == {"other": KeptSummary("a", "other")}


def test_a_summary_is_replaced_by_the_next(store: Store, open_store: Opener) -> None:
    chain(store, "s", "a", "b")
    chain(store, "t", "a")
    store.records.keep_summaries({"s": KeptSummary("a", "0/2"), "t": KeptSummary("a", "1/1")})

    open_store().records.keep_summaries({"s": KeptSummary(None, "")})

    assert dict(store.records.kept_summaries()) == {"s": KeptSummary(None, ""), "t": KeptSummary("a", "1/1")}


def test_a_session_that_does_not_exist_has_no_summary(store: Store) -> None:
    store.records.keep_summaries({"never": KeptSummary("a", "text")})
    store.records.keep_summaries({})

    assert dict(store.records.kept_summaries()) == {}


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


LEASE = 60_000
ADA, BOB, EVE = (Claimant(name) for name in ("claude:ada", "codex:bob", "tildone:eve"))
AGENTS = ["", "ünï 😀", "half \ud83d a pair", "nul \x00 inside", "'; DROP TABLE --", "long " * 400]


def event(name: str, parent: str | None) -> Event:
    return Event(name, parent, 1, Actor.AGENT, PlanChanged(plan_of(name)))


def fence(by: Claimant, *changes: int, starts: tuple[int, ...] = (), active: tuple[int, ...] = ()) -> ClaimFence:
    return ClaimFence(by, LEASE, frozenset({*changes, *starts}), frozenset(starts), frozenset({*active, *starts}))


def holders(store: Store) -> dict[int, tuple[str, int]]:
    return {claim.task: (claim.agent, claim.epoch) for claim in store.records.claims("s") if claim.is_held}


def test_a_session_without_claims_has_none(store: Store) -> None:
    assert list(store.records.claims("s")) == []
    assert list(store.records.renew("s", ADA.agent, LEASE)) == []
    store.records.release("s", ADA.agent)
    store.records.lapse("s", ADA.agent)
    assert list(store.records.claims("s")) == []


def test_a_free_task_is_claimed(store: Store, open_store: Opener) -> None:
    ada = Claimant("claude:ada", "/trees/a", "feature", "host", 41, 7)

    claim = store.records.claim("s", 3, ada, LEASE)

    assert (claim.task, claim.epoch, claim.holder, claim.before) == (3, 1, ada, None)
    assert claim.is_held
    [read] = open_store().records.claims("s")
    assert (read.task, read.epoch, read.until, read.holder) == (3, 1, claim.until, ada)
    assert 0 < read.remaining <= LEASE
    assert list(store.records.claims("other")) == []


def test_any_text_can_be_the_name_of_an_agent(store: Store) -> None:
    for name in AGENTS:
        agent = Claimant(name, name, name)
        store.records.claim(name, 1, agent, LEASE)

        assert [claim.holder for claim in store.records.claims(name)] == [agent]
        assert store.records.claim(name, 1, ADA, LEASE).holder == agent
        store.records.release(name, name)
        assert list(store.records.claims(name)) == [], name


def test_a_held_task_stays_with_its_holder(store: Store, open_store: Opener) -> None:
    first = store.records.claim("s", 1, ADA, LEASE)

    second = open_store().records.claim("s", 1, BOB, LEASE)

    assert (second.agent, second.epoch) == (ADA.agent, 1)
    assert second.until == first.until


def test_the_same_agent_keeps_its_epoch_and_renews(store: Store) -> None:
    first = store.records.claim("s", 1, ADA, LEASE)

    second = store.records.claim("s", 1, ADA, 2 * LEASE)

    assert (second.epoch, second.agent) == (1, ADA.agent)
    assert second.until > first.until


def test_a_lapsed_task_passes_on_under_the_next_epoch(store: Store) -> None:
    store.records.claim("s", 1, ADA, 0)

    claim = store.records.claim("s", 1, BOB, LEASE)

    assert (claim.agent, claim.epoch, claim.before) == (BOB.agent, 2, ADA)
    assert [lost.agent for lost in store.records.renew("s", ADA.agent, LEASE)] == [BOB.agent]
    assert holders(store) == {1: (BOB.agent, 2)}


def test_a_lapsed_task_that_nobody_took_is_still_the_agents_own(store: Store) -> None:
    store.records.claim("s", 1, ADA, 0)
    assert holders(store) == {}
    assert [claim.agent for claim in store.records.claims("s")] == [ADA.agent]

    assert list(store.records.renew("s", ADA.agent, LEASE)) == []

    assert holders(store) == {1: (ADA.agent, 1)}
    assert store.records.claim("s", 1, BOB, LEASE).agent == ADA.agent


def test_a_released_task_is_free_and_its_epoch_is_not_used_again(store: Store) -> None:
    for task in (1, 2):
        store.records.claim("s", task, ADA, LEASE)

    store.records.release("s", ADA.agent, frozenset({1}))

    assert holders(store) == {2: (ADA.agent, 1)}
    claim = store.records.claim("s", 1, BOB, LEASE)
    assert (claim.epoch, claim.before) == (2, ADA)
    store.records.release("s", BOB.agent)
    again = store.records.claim("s", 1, BOB, LEASE)
    assert (again.epoch, again.before) == (3, None)
    # Who gave a task back has not lost it.
    assert list(store.records.renew("s", ADA.agent, LEASE)) == []


def test_a_released_task_is_not_renewed(store: Store) -> None:
    store.records.claim("s", 1, ADA, LEASE)
    store.records.release("s", ADA.agent)

    store.records.renew("s", ADA.agent, LEASE)

    assert list(store.records.claims("s")) == []


def test_the_leases_of_an_agent_that_ended_can_be_ended(store: Store) -> None:
    store.records.claim("s", 1, ADA, LEASE)
    store.records.claim("s", 2, BOB, LEASE)

    store.records.lapse("s", ADA.agent)

    assert holders(store) == {2: (BOB.agent, 1)}
    assert [claim.until for claim in store.records.claims("s") if claim.agent == ADA.agent] == [LAPSED]
    assert store.records.claim("s", 1, BOB, LEASE).before == ADA
    # It was not dead after all.
    assert [lost.task for lost in store.records.renew("s", ADA.agent, LEASE)] == [1]


def test_a_lost_task_is_told_until_it_is_released(store: Store) -> None:
    for task in (1, 2):
        store.records.claim("s", task, ADA, 0)
        store.records.claim("s", task, BOB, LEASE)

    store.records.release("s", ADA.agent, frozenset({1}))

    assert [lost.task for lost in store.records.renew("s", ADA.agent, LEASE)] == [2]
    store.records.release("s", ADA.agent)
    assert list(store.records.renew("s", ADA.agent, LEASE)) == []
    assert holders(store) == {1: (BOB.agent, 2), 2: (BOB.agent, 2)}


def test_an_event_claims_what_it_starts(store: Store, open_store: Opener) -> None:
    [claim] = store.records.append_fenced("s", event("a", None), "reader", fence(ADA, 2, starts=(1,)))

    assert (claim.task, claim.agent, claim.epoch) == (1, ADA.agent, 1)
    assert claim.is_held
    assert holders(open_store()) == {1: (ADA.agent, 1)}
    assert store.session_head("s").head == store.records.seen("s", "reader") == "a"


def test_an_event_releases_what_is_no_longer_in_progress_and_renews_the_rest(store: Store) -> None:
    for task in (1, 2):
        store.records.claim("s", task, ADA, 0)

    taken = store.records.append_fenced("s", event("a", None), "", fence(ADA, 1, active=(2,)))

    assert list(taken) == []
    assert holders(store) == {2: (ADA.agent, 1)}
    assert [claim.task for claim in store.records.claims("s")] == [2]


@pytest.mark.parametrize("starts", [(), (1,)])
def test_an_event_that_changes_a_held_task_is_refused(store: Store, starts: tuple[int, ...]) -> None:
    store.append("s", event("a", None))
    store.records.claim("s", 1, ADA, LEASE)

    with pytest.raises(Fenced, match="claude:ada") as refused:
        store.records.append_fenced("s", event("b", "a"), "reader", fence(BOB, 1, starts=starts))

    assert [(claim.task, claim.agent) for claim in refused.value.held] == [(1, ADA.agent)]
    assert refused.value.lost == ()
    assert store.session_head("s").head == "a"
    assert store.records.seen("s", "reader") is None
    assert holders(store) == {1: (ADA.agent, 1)}


def test_an_event_may_leave_held_tasks_alone(store: Store) -> None:
    store.records.claim("s", 1, ADA, LEASE)

    store.records.append_fenced("s", event("a", None), "", fence(BOB, 3, starts=(2,), active=(1,)))

    assert holders(store) == {1: (ADA.agent, 1), 2: (BOB.agent, 1)}


def test_an_agent_whose_task_has_passed_on_is_refused_until_it_knows(store: Store) -> None:
    """Whatever it changes: it acts on what it knew before."""
    store.records.claim("s", 1, ADA, 0)
    store.records.append_fenced("s", event("a", None), "", fence(BOB, starts=(1,)))

    with pytest.raises(Fenced) as refused:
        store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 2))

    assert [(claim.task, claim.agent, claim.epoch) for claim in refused.value.lost] == [(1, BOB.agent, 2)]
    assert refused.value.held == ()
    assert store.session_head("s").head == "a"
    store.records.release("s", ADA.agent, frozenset({1}))
    store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 2))
    assert store.session_head("s").head == "b"


def test_even_if_its_heir_has_finished_the_task(store: Store) -> None:
    store.records.claim("s", 1, ADA, 0)
    store.records.append_fenced("s", event("a", None), "", fence(BOB, starts=(1,)))
    store.records.append_fenced("s", event("b", "a"), "", fence(BOB, 1))

    with pytest.raises(Fenced):
        store.records.append_fenced("s", event("c", "b"), "", fence(ADA, starts=(1,)))


def test_changing_a_lapsed_task_takes_it_over(store: Store) -> None:
    """So that the one that had it is refused, also if the task is closed at once."""
    store.records.claim("s", 1, ADA, 0)

    [claim] = store.records.append_fenced("s", event("a", None), "", fence(BOB, 1))

    assert (claim.agent, claim.epoch, claim.before) == (BOB.agent, 2, ADA)
    assert list(store.records.claims("s")) == []
    with pytest.raises(Fenced):
        store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 1))


def test_many_agents_may_lose_a_task(store: Store) -> None:
    for agent in (ADA, BOB, EVE):
        store.records.claim("s", 1, agent, 0)

    for agent in (ADA, BOB):
        assert [lost.agent for lost in store.records.renew("s", agent.agent, LEASE)] == [EVE.agent]
    assert list(store.records.renew("s", EVE.agent, LEASE)) == []


def test_the_claims_that_were_passed_on_are_bounded(store: Store) -> None:
    for number in range(12):
        store.records.claim("s", 1, Claimant(f"a{number}"), 0)

    told = [number for number in range(12) if store.records.renew("s", f"a{number}", 0)]

    assert told == list(range(3, 11))
    assert store.records.claim("s", 1, ADA, LEASE).epoch == 13


def test_without_the_head_nothing_is_claimed(store: Store) -> None:
    store.append("s", event("a", None))

    with pytest.raises(HeadMoved):
        store.records.append_fenced("s", event("b", None), "", fence(ADA, starts=(1,)))

    assert list(store.records.claims("s")) == []


def test_an_event_is_appended_once(store: Store) -> None:
    store.append("s", event("a", None))

    with pytest.raises(StoreError, match="already"):
        store.records.append_fenced("s", event("a", "a"), "", fence(ADA, starts=(1,)))

    assert list(store.records.claims("s")) == []


def test_a_person_is_not_fenced(store: Store) -> None:
    store.records.claim("s", 1, ADA, LEASE)

    store.append("s", event("a", None))

    assert store.session_head("s").head == "a"


def test_a_deleted_session_loses_its_claims(store: Store, open_store: Opener) -> None:
    for name in ("s", "other"):
        store.records.append_fenced(name, event("a", None), "", fence(ADA, starts=(1,)))

    store.delete("s", expected="a")

    assert list(open_store().records.claims("s")) == []
    assert [claim.task for claim in store.records.claims("other")] == [1]


def test_claims_are_no_changes_of_a_session(store: Store) -> None:
    store.append("s", event("a", None))
    before = store.records.revision()

    store.records.claim("s", 1, ADA, LEASE)
    store.records.renew("s", ADA.agent, LEASE)
    store.records.release("s", ADA.agent)

    assert store.records.revision() == before


def test_of_many_that_claim_a_task_at_once_one_gets_it(store: Store, open_store: Opener) -> None:
    stores = [open_store() for _ in range(4)]
    start = Barrier(len(stores))

    def claim(number: int) -> list[Claim]:
        start.wait(20)
        return [stores[number].records.claim("s", task, Claimant(f"a{number}"), LEASE) for task in range(5)]

    with ThreadPoolExecutor(len(stores)) as pool:
        answers = list(pool.map(claim, range(len(stores))))

    for claims in zip(*answers, strict=True):
        assert len({(each.agent, each.epoch) for each in claims}) == 1
    assert holders(store).keys() == set(range(5))


CHANGES: dict[str, tuple[Callable[[Store, str], object], str | None]] = {
    "an event": (lambda store, name: chain(store, name, "c"), "c"),
    "an event and its reader": (lambda store, name: store.append(name, planned("c", "b", "x"), "claude"), "c"),
    "undo": (lambda store, name: store.move_head(name, SessionHead("a", ("b",)), expected="b"), "a"),
    "undo of everything": (lambda store, name: store.move_head(name, SessionHead(None), expected="b"), None),
    "the redo stack": (lambda store, name: store.move_head(name, SessionHead("b", ("a",)), expected="b"), "b"),
    "imported events": (
        lambda store, name: store.import_events(name, [planned("c", "a", "x")], SessionHead("c")),
        "c",
    ),
    "an imported branch": (
        lambda store, name: store.import_events(name, [planned("c", "a", "x")], SessionHead("b")),
        "b",
    ),
    "an imported head": (lambda store, name: store.import_events(name, [], SessionHead("a")), "a"),
}
"""Changes of a session with the events a and b, and its head afterwards."""

NO_CHANGES: dict[str, Callable[[Store], object]] = {
    "what a reader has seen": lambda store: store.records.set_seen("s", "claude", "a"),
    "a move to the head": lambda store: store.move_head("s", SessionHead("b"), expected="b"),
    "events that are known": lambda store: store.import_events("s", list(store.events("s")), SessionHead("b")),
    "a move in no session": lambda store: store.move_head("never", SessionHead(None), expected=None),
    "the deletion of no session": lambda store: store.delete("never", expected=None),
    "a check": lambda store: list(store.check()),
    "compaction": lambda store: store.compact(),
    "reading": lambda store: (store.sessions(), store.leaves("s"), list(store.history("s"))),
}

REFUSED: dict[str, tuple[type[Exception], Callable[[Store], object]]] = {
    "an outdated event": (HeadMoved, lambda store: store.append("s", planned("c", "a", "x"))),
    "an id that exists": (StoreError, lambda store: store.append("s", planned("a", "b", "x"))),
    "an outdated move": (HeadMoved, lambda store: store.move_head("s", SessionHead("a"), expected="a")),
    "an unknown head": (UnknownEvent, lambda store: store.move_head("s", SessionHead("never"), expected="b")),
    "an outdated deletion": (HeadMoved, lambda store: store.delete("s", expected="a")),
    "an import": (
        UnknownEvent,
        lambda store: store.import_events("s", [planned("c", "b", "x"), planned("d", "never", "x")], SessionHead("d")),
    ),
}


def names(store: Store, since: int) -> list[str]:
    return [change.session for change in store.records.changed(since)]


def test_a_new_store_has_no_changes(store: Store) -> None:
    revision = store.records.revision()

    assert list(store.records.changed(0)) == list(store.records.changed(revision)) == []
    assert not store.records.wait_any(revision, 0)


def test_every_change_has_a_revision(store: Store) -> None:
    """It is told with the head, whether or not an event was written."""
    chain(store, "other", "a")
    for name, (change, head) in CHANGES.items():
        chain(store, name, "a", "b")
        before = store.records.revision()

        change(store, name)

        after = store.records.revision()
        assert after > before, name
        assert list(store.records.changed(before)) == [SessionChange(name, head, after)]
        assert list(store.records.changed(after)) == [], name
        assert store.records.wait_any(before, 0), name
        assert not store.records.wait_any(after, 0), name


def test_what_leaves_the_plans_as_they_are_is_no_change(store: Store) -> None:
    chain(store, "s", "a", "b")
    before = store.records.revision()

    for name, change in NO_CHANGES.items():
        change(store)
        assert (store.records.revision(), list(store.records.changed(before))) == (before, []), name


def test_a_refused_change_has_no_revision(store: Store) -> None:
    chain(store, "s", "a", "b")
    before = store.records.revision()

    for name, (error, change) in REFUSED.items():
        assert is_refused(error, partial(change, store)), name
        assert (store.records.revision(), list(store.records.changed(before))) == (before, []), name


def test_each_session_is_told_once_with_its_newest_head(store: Store) -> None:
    revisions = [store.records.revision()]
    for session, event in (("one", "a"), ("two", "a"), ("three", "a"), ("one", "b"), ("one", "c")):
        chain(store, session, event)
        revisions.append(store.records.revision())
    store.move_head("two", SessionHead(None), expected="a")
    revisions.append(store.records.revision())

    told = store.records.changed(revisions[0])

    assert revisions == sorted(set(revisions))
    assert [(change.session, change.head, change.exists) for change in told] == [
        ("three", "a", True),
        ("one", "c", True),
        ("two", None, True),
    ]
    assert [change.revision for change in told] == [revisions[3], revisions[5], revisions[6]]
    assert names(store, revisions[3]) == ["one", "two"]
    assert list(store.records.changed(0)) == list(told)


def test_a_deleted_session_is_told_as_deleted(store: Store) -> None:
    """It has no head. A session at the beginning of its history has none either, but exists."""
    chain(store, "s", "a")
    chain(store, "other", "a")
    before = store.records.revision()

    store.delete("s", expected="a")

    after = store.records.revision()
    assert list(store.records.changed(before)) == [SessionChange("s", None, after, exists=False)]
    assert store.records.wait_any(before, 0)


def test_a_session_that_is_created_again_exists(store: Store) -> None:
    """It is told once, however often it was deleted."""
    before = store.records.revision()
    for event in ("a", "b"):
        chain(store, "s", event)
        assert store.records.revision() > before
        store.delete("s", expected=event)
        assert [change.exists for change in store.records.changed(before)] == [False]
    deleted = store.records.revision()

    chain(store, "s", "c")

    after = store.records.revision()
    assert (
        list(store.records.changed(before)) == list(store.records.changed(deleted)) == [SessionChange("s", "c", after)]
    )


def test_deleting_the_newest_session_does_not_repeat_a_revision(store: Store) -> None:
    """A reader of that revision would miss the next change."""
    revisions = []
    for _ in range(3):
        chain(store, "s", "a")
        revisions.append(store.records.revision())
        store.delete("s", expected="a")
        revisions.append(store.records.revision())

    assert revisions == sorted(set(revisions))


def test_an_unknown_revision_returns_everything(store: Store) -> None:
    """A store that was replaced by an older backup has not reached it."""
    chain(store, "s", "a")

    assert names(store, store.records.revision() + 1_000_000) == ["s"]
    assert store.records.wait_any(store.records.revision() + 1_000_000, 0)


def test_sessions_and_heads_may_have_any_name(store: Store) -> None:
    for name in (*WILD, "long " * 1000):
        before = store.records.revision()
        chain(store, name, f"{name}x")
        written = store.records.changed(before)
        store.delete(name, expected=f"{name}x")

        assert [(change.session, change.head) for change in written] == [(name, f"{name}x")]
        assert [(change.session, change.exists) for change in store.records.changed(before)] == [(name, False)]


def test_changes_of_other_objects_are_told(open_store: Opener) -> None:
    one, other = open_store(), open_store()
    told: list[tuple[str, str | None]] = []
    revision = one.records.revision()
    for change in (
        lambda: chain(other, "s", "a", "b"),
        lambda: other.move_head("s", SessionHead("a", ("b",)), expected="b"),
        lambda: other.delete("s", expected="a"),
    ):
        change()
        told += [(change.session, change.head) for change in one.records.changed(revision)]
        revision = one.records.revision()

    assert told == [("s", "b"), ("s", "a"), ("s", None)]


def test_waiting_for_any_change_ends_after_the_timeout(store: Store) -> None:
    chain(store, "s", "a")

    assert not store.records.wait_any(store.records.revision(), 0.02)


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
