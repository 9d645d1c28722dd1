"""The contract of the claims of every store, as tests."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.plans import plan_of
from tildone.base import HeadMoved, StoreError
from tildone.log.store import Store
from tildone.plan.claims import LAPSED, Claim, Claimant, ClaimFence, Fenced
from tildone.plan.events import Actor, Event, PlanChanged

Opener = Callable[[], Store]

LEASE = 60_000
ADA, BOB, EVE = (Claimant(name) for name in ("claude:ada", "codex:bob", "tildone:eve"))
WILD = ["", "ünï 😀", "half \ud83d a pair", "nul \x00 inside", "'; DROP TABLE --", "long " * 400]


def event(name: str, parent: str | None) -> Event:
    return Event(name, parent, 1, Actor.AGENT, PlanChanged(plan_of(name)))


def fence(by: Claimant, *changes: int, starts: tuple[int, ...] = (), active: tuple[int, ...] = ()) -> ClaimFence:
    return ClaimFence(by, LEASE, frozenset({*changes, *starts}), frozenset(starts), frozenset({*active, *starts}))


def holders(store: Store) -> dict[int, tuple[str, int]]:
    return {claim.task: (claim.agent, claim.epoch) for claim in store.records.claims("s") if claim.is_held}


class ClaimsContract:
    """Tests of the claims of a `store`, and of several objects for the same store by way of `open_store`."""

    def test_a_session_without_claims_has_none(self, store: Store) -> None:
        assert list(store.records.claims("s")) == []
        assert list(store.records.renew("s", ADA.agent, LEASE)) == []
        store.records.release("s", ADA.agent)
        store.records.lapse("s", ADA.agent)
        assert list(store.records.claims("s")) == []

    def test_a_free_task_is_claimed(self, store: Store, open_store: Opener) -> None:
        ada = Claimant("claude:ada", "/trees/a", "feature", "host", 41, 7)

        claim = store.records.claim("s", 3, ada, LEASE)

        assert (claim.task, claim.epoch, claim.holder, claim.before) == (3, 1, ada, None)
        assert claim.is_held
        [read] = open_store().records.claims("s")
        assert (read.task, read.epoch, read.until, read.holder) == (3, 1, claim.until, ada)
        assert 0 < read.remaining <= LEASE
        assert list(store.records.claims("other")) == []

    def test_any_text_can_be_the_name_of_an_agent(self, store: Store) -> None:
        for name in WILD:
            agent = Claimant(name, name, name)
            store.records.claim(name, 1, agent, LEASE)

            assert [claim.holder for claim in store.records.claims(name)] == [agent]
            assert store.records.claim(name, 1, ADA, LEASE).holder == agent
            store.records.release(name, name)
            assert list(store.records.claims(name)) == [], name

    def test_a_held_task_stays_with_its_holder(self, store: Store, open_store: Opener) -> None:
        first = store.records.claim("s", 1, ADA, LEASE)

        second = open_store().records.claim("s", 1, BOB, LEASE)

        assert (second.agent, second.epoch) == (ADA.agent, 1)
        assert second.until == first.until

    def test_the_same_agent_keeps_its_epoch_and_renews(self, store: Store) -> None:
        first = store.records.claim("s", 1, ADA, LEASE)

        second = store.records.claim("s", 1, ADA, 2 * LEASE)

        assert (second.epoch, second.agent) == (1, ADA.agent)
        assert second.until > first.until

    def test_a_lapsed_task_passes_on_under_the_next_epoch(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, 0)

        claim = store.records.claim("s", 1, BOB, LEASE)

        assert (claim.agent, claim.epoch, claim.before) == (BOB.agent, 2, ADA)
        assert [lost.agent for lost in store.records.renew("s", ADA.agent, LEASE)] == [BOB.agent]
        assert holders(store) == {1: (BOB.agent, 2)}

    def test_a_lapsed_task_that_nobody_took_is_still_the_agents_own(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, 0)
        assert holders(store) == {}
        assert [claim.agent for claim in store.records.claims("s")] == [ADA.agent]

        assert list(store.records.renew("s", ADA.agent, LEASE)) == []

        assert holders(store) == {1: (ADA.agent, 1)}
        assert store.records.claim("s", 1, BOB, LEASE).agent == ADA.agent

    def test_a_released_task_is_free_and_its_epoch_is_not_used_again(self, store: Store) -> None:
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

    def test_a_released_task_is_not_renewed(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, LEASE)
        store.records.release("s", ADA.agent)

        store.records.renew("s", ADA.agent, LEASE)

        assert list(store.records.claims("s")) == []

    def test_the_leases_of_an_agent_that_ended_can_be_ended(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, LEASE)
        store.records.claim("s", 2, BOB, LEASE)

        store.records.lapse("s", ADA.agent)

        assert holders(store) == {2: (BOB.agent, 1)}
        assert [claim.until for claim in store.records.claims("s") if claim.agent == ADA.agent] == [LAPSED]
        assert store.records.claim("s", 1, BOB, LEASE).before == ADA
        # It was not dead after all.
        assert [lost.task for lost in store.records.renew("s", ADA.agent, LEASE)] == [1]

    def test_a_lost_task_is_told_until_it_is_released(self, store: Store) -> None:
        for task in (1, 2):
            store.records.claim("s", task, ADA, 0)
            store.records.claim("s", task, BOB, LEASE)

        store.records.release("s", ADA.agent, frozenset({1}))

        assert [lost.task for lost in store.records.renew("s", ADA.agent, LEASE)] == [2]
        store.records.release("s", ADA.agent)
        assert list(store.records.renew("s", ADA.agent, LEASE)) == []
        assert holders(store) == {1: (BOB.agent, 2), 2: (BOB.agent, 2)}

    def test_an_event_claims_what_it_starts(self, store: Store, open_store: Opener) -> None:
        [claim] = store.records.append_fenced("s", event("a", None), "reader", fence(ADA, 2, starts=(1,)))

        assert (claim.task, claim.agent, claim.epoch) == (1, ADA.agent, 1)
        assert claim.is_held
        assert holders(open_store()) == {1: (ADA.agent, 1)}
        assert store.session_head("s").head == store.records.seen("s", "reader") == "a"

    def test_an_event_releases_what_is_no_longer_in_progress_and_renews_the_rest(self, store: Store) -> None:
        for task in (1, 2):
            store.records.claim("s", task, ADA, 0)

        taken = store.records.append_fenced("s", event("a", None), "", fence(ADA, 1, active=(2,)))

        assert list(taken) == []
        assert holders(store) == {2: (ADA.agent, 1)}
        assert [claim.task for claim in store.records.claims("s")] == [2]

    @pytest.mark.parametrize("starts", [(), (1,)])
    def test_an_event_that_changes_a_held_task_is_refused(self, store: Store, starts: tuple[int, ...]) -> None:
        store.append("s", event("a", None))
        store.records.claim("s", 1, ADA, LEASE)

        with pytest.raises(Fenced, match="claude:ada") as refused:
            store.records.append_fenced("s", event("b", "a"), "reader", fence(BOB, 1, starts=starts))

        assert [(claim.task, claim.agent) for claim in refused.value.held] == [(1, ADA.agent)]
        assert refused.value.lost == ()
        assert store.session_head("s").head == "a"
        assert store.records.seen("s", "reader") is None
        assert holders(store) == {1: (ADA.agent, 1)}

    def test_an_event_may_leave_held_tasks_alone(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, LEASE)

        store.records.append_fenced("s", event("a", None), "", fence(BOB, 3, starts=(2,), active=(1,)))

        assert holders(store) == {1: (ADA.agent, 1), 2: (BOB.agent, 1)}

    def test_an_agent_whose_task_has_passed_on_is_refused_until_it_knows(self, store: Store) -> None:
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

    def test_even_if_its_heir_has_finished_the_task(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, 0)
        store.records.append_fenced("s", event("a", None), "", fence(BOB, starts=(1,)))
        store.records.append_fenced("s", event("b", "a"), "", fence(BOB, 1))

        with pytest.raises(Fenced):
            store.records.append_fenced("s", event("c", "b"), "", fence(ADA, starts=(1,)))

    def test_changing_a_lapsed_task_takes_it_over(self, store: Store) -> None:
        """So that the one that had it is refused, also if the task is closed at once."""
        store.records.claim("s", 1, ADA, 0)

        [claim] = store.records.append_fenced("s", event("a", None), "", fence(BOB, 1))

        assert (claim.agent, claim.epoch, claim.before) == (BOB.agent, 2, ADA)
        assert list(store.records.claims("s")) == []
        with pytest.raises(Fenced):
            store.records.append_fenced("s", event("b", "a"), "", fence(ADA, 1))

    def test_many_agents_may_lose_a_task(self, store: Store) -> None:
        for agent in (ADA, BOB, EVE):
            store.records.claim("s", 1, agent, 0)

        for agent in (ADA, BOB):
            assert [lost.agent for lost in store.records.renew("s", agent.agent, LEASE)] == [EVE.agent]
        assert list(store.records.renew("s", EVE.agent, LEASE)) == []

    def test_the_claims_that_were_passed_on_are_bounded(self, store: Store) -> None:
        for number in range(12):
            store.records.claim("s", 1, Claimant(f"a{number}"), 0)

        told = [number for number in range(12) if store.records.renew("s", f"a{number}", 0)]

        assert told == list(range(3, 11))
        assert store.records.claim("s", 1, ADA, LEASE).epoch == 13

    def test_without_the_head_nothing_is_claimed(self, store: Store) -> None:
        store.append("s", event("a", None))

        with pytest.raises(HeadMoved):
            store.records.append_fenced("s", event("b", None), "", fence(ADA, starts=(1,)))

        assert list(store.records.claims("s")) == []

    def test_an_event_is_appended_once(self, store: Store) -> None:
        store.append("s", event("a", None))

        with pytest.raises(StoreError, match="already"):
            store.records.append_fenced("s", event("a", "a"), "", fence(ADA, starts=(1,)))

        assert list(store.records.claims("s")) == []

    def test_a_person_is_not_fenced(self, store: Store) -> None:
        store.records.claim("s", 1, ADA, LEASE)

        store.append("s", event("a", None))

        assert store.session_head("s").head == "a"

    def test_a_deleted_session_loses_its_claims(self, store: Store, open_store: Opener) -> None:
        for name in ("s", "other"):
            store.records.append_fenced(name, event("a", None), "", fence(ADA, starts=(1,)))

        store.delete("s", expected="a")

        assert list(open_store().records.claims("s")) == []
        assert [claim.task for claim in store.records.claims("other")] == [1]

    def test_claims_are_no_changes_of_a_session(self, store: Store) -> None:
        store.append("s", event("a", None))
        before = store.records.revision()

        store.records.claim("s", 1, ADA, LEASE)
        store.records.renew("s", ADA.agent, LEASE)
        store.records.release("s", ADA.agent)

        assert store.records.revision() == before

    def test_of_many_that_claim_a_task_at_once_one_gets_it(self, store: Store, open_store: Opener) -> None:
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
