"""The contract of what every store keeps beside the log, as tests: presences, questions, summaries; and density."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.stores.contract import LONG_ENOUGH, WILD, Opener, chain, planned
from tildone.base import UnknownNeed, replace
from tildone.log import needs
from tildone.log.kept import KeptSummary
from tildone.log.needs import ANSWERED_LIFETIME_MS, Need, NeedAnswered
from tildone.log.presence import PRESENCE_LIFETIME_MS, Presence
from tildone.log.store import Store
from tildone.plan.events import SessionHead

NOW = 1_900_000_000_000
WORKING = Presence("claude:5f0c", "s", "claude", "laptop", "m-1", "bash: make", NOW - 5, "", 184_000, 1.92, NOW)
QUESTION = Need("n1", "s", "command", "rm -r build", ("once", "session", "no"), NOW, "run:1", "in /work, for Build")


def sessions_after(store: Store, revision: int) -> list[str]:
    return [change.session for change in store.records.changed(revision)]


class RecordsContract:
    """Tests of a `store`, and of several objects for the same store by way of `open_store`."""

    def test_a_new_store_keeps_nothing(self, store: Store) -> None:
        assert not store.records.presences()
        assert not store.records.needs()
        assert dict(store.records.kept_summaries()) == {}
        assert store.records.need("n1") is None
        assert list(store.records.density("s", 0, 10, 3)) == [0, 0, 0]

    def test_an_agent_has_one_presence_its_newest(self, store: Store, open_store: Opener) -> None:
        store.records.beat(Presence("codex:1", "other", beat=NOW))
        store.records.beat(WORKING)
        resting = replace(WORKING, session="t", doing="", why="asked", beat=NOW + 1)

        store.records.beat(resting)

        assert list(open_store().records.presences()) == [resting, Presence("codex:1", "other", beat=NOW)]

    def test_an_agent_that_leaves_has_no_presence(self, store: Store, open_store: Opener) -> None:
        store.records.beat(WORKING)
        store.records.beat(replace(WORKING, agent="codex:1"))

        store.records.leave("claude:5f0c")
        store.records.leave("never")

        assert list(open_store().records.presences()) == [replace(WORKING, agent="codex:1")]

    def test_a_sign_of_life_removes_those_of_more_than_a_day_ago(self, store: Store) -> None:
        last = replace(WORKING, agent="last", beat=NOW - PRESENCE_LIFETIME_MS)
        store.records.beat(last)
        store.records.beat(replace(last, agent="older", beat=last.beat - 1))

        store.records.beat(WORKING)

        assert list(store.records.presences()) == [WORKING, last]

    def test_presence_and_summaries_have_no_revision(self, store: Store) -> None:
        chain(store, "s", "a")
        before = store.records.revision()

        store.records.beat(WORKING)
        store.records.leave(WORKING.agent)
        store.records.keep_summaries({"s": KeptSummary("a", "1/2")})

        assert store.records.revision() == before

    def test_any_text_survives(self, store: Store, open_store: Opener) -> None:
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

    def test_open_questions_are_listed_the_oldest_first(self, store: Store, open_store: Opener) -> None:
        newer = replace(QUESTION, id="n0", session="other", since=NOW + 1)
        store.records.ask(newer)
        store.records.ask(QUESTION)

        assert list(open_store().records.needs()) == [QUESTION, newer]

    def test_a_question_is_asked_once(self, store: Store) -> None:
        store.records.ask(QUESTION)
        before = store.records.revision()

        store.records.ask(replace(QUESTION, text="rm -r /"))

        assert list(store.records.needs()) == [QUESTION]
        assert store.records.revision() == before

    def test_the_first_answer_wins_and_the_second_is_told_so(self, store: Store, open_store: Opener) -> None:
        store.records.ask(QUESTION)

        first = store.records.answer("n1", "once", "Ada", NOW + 7)
        with pytest.raises(NeedAnswered, match="once") as refused:
            open_store().records.answer("n1", "no", "Bob", NOW + 8)

        assert first == replace(QUESTION, answer="once", answered_by="Ada", answered_at=NOW + 7)
        assert refused.value.need == store.records.need("n1") == first
        assert list(store.records.needs()) == []

    def test_an_empty_answer_is_an_answer(self, store: Store) -> None:
        store.records.ask(QUESTION)

        store.records.answer("n1", "", "Ada", NOW)

        assert list(store.records.needs()) == []

    def test_of_many_answers_at_once_one_wins(self, store: Store, open_store: Opener) -> None:
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

    def test_only_an_open_question_is_withdrawn(self, store: Store) -> None:
        store.records.ask(QUESTION)
        store.records.ask(replace(QUESTION, id="n2"))
        store.records.answer("n2", "no", "Ada", NOW)

        for need in ("n1", "n2", "never"):
            store.records.withdraw(need)

        assert store.records.need("n1") is None
        assert store.records.need("n2") is not None

    def test_what_was_never_asked_or_was_withdrawn_cannot_be_answered(self, store: Store) -> None:
        store.records.ask(QUESTION)
        store.records.withdraw("n1")

        for need in ("never", "n1"):
            with pytest.raises(UnknownNeed, match=need):
                store.records.answer(need, "no", "Ada", NOW)

    def test_questions_answers_and_withdrawals_have_a_revision(self, store: Store, open_store: Opener) -> None:
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

    def test_what_is_not_changed_has_no_revision(self, store: Store) -> None:
        store.records.ask(QUESTION)
        store.records.answer("n1", "no", "Ada", NOW)
        before = store.records.revision()

        store.records.withdraw("n1")
        store.records.withdraw("never")
        with pytest.raises(NeedAnswered):
            store.records.answer("n1", "once", "Ada", NOW)

        assert store.records.revision() == before

    def test_a_session_without_events_can_have_a_question(self, store: Store) -> None:
        before = store.records.revision()

        store.records.ask(QUESTION)

        [told] = store.records.changed(before)
        assert (told.session, told.head, told.exists) == ("s", None, False)
        chain(store, "s", "a")
        assert [change.exists for change in store.records.changed(before)] == [True]
        assert list(store.records.needs()) == [QUESTION]

    def test_waiting_for_any_change_hears_an_answer(self, store: Store, open_store: Opener) -> None:
        store.records.ask(QUESTION)
        other = open_store()
        revision = store.records.revision()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.records.wait_any, revision, LONG_ENOUGH)

            other.records.answer("n1", "no", "Ada", NOW)

            assert waiting.result(LONG_ENOUGH)

    def test_answers_of_more_than_an_hour_ago_are_removed(self, store: Store) -> None:
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

    def test_a_deleted_session_loses_what_is_kept_of_it(self, store: Store, open_store: Opener) -> None:
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

    def test_a_summary_is_replaced_by_the_next(self, store: Store, open_store: Opener) -> None:
        chain(store, "s", "a", "b")
        chain(store, "t", "a")
        store.records.keep_summaries({"s": KeptSummary("a", "0/2"), "t": KeptSummary("a", "1/1")})

        open_store().records.keep_summaries({"s": KeptSummary(None, "")})

        assert dict(store.records.kept_summaries()) == {"s": KeptSummary(None, ""), "t": KeptSummary("a", "1/1")}

    def test_a_session_that_does_not_exist_has_no_summary(self, store: Store) -> None:
        store.records.keep_summaries({"never": KeptSummary("a", "text")})
        store.records.keep_summaries({})

        assert dict(store.records.kept_summaries()) == {}

    def test_events_are_counted_in_equal_intervals(self, store: Store) -> None:
        """The end is not counted, and other branches are."""
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

    def test_open_and_answered_questions_are_bounded(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
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
