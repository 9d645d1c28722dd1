"""What follows from events: the state at the head, summaries, refs, undo and redo, usage, claims."""

import re
from collections.abc import Iterable, Iterator
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.plans import plan_of, unnumbered_plan_of
from tests.stores.claiming import Claiming
from tests.stores.contract import run_machine
from tildone.base import NotFound, Refused
from tildone.log.kept import Severity, error_findings
from tildone.plan import codec
from tildone.plan.claims import RELEASED, Claim, Claimant, newest, released
from tildone.plan.codec import decode, encode
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    Author,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    SessionHead,
    State,
    StopFingerprint,
    Tripped,
    added,
    apply_event,
    branch,
    by_id,
    head_after_redo,
    head_after_undo,
    labels,
    latest_state,
    leaves,
    since,
    usage_in,
    usage_of_text,
    usage_out,
    usage_text,
)
from tildone.plan.history.refs import events_by_label, label_problem, resolve, short_ids
from tildone.plan.model import Phase, Plan, Status, Task, numbered
from tildone.stores import summary
from tildone.stores.memory import MemoryStore
from tildone.stores.summary import MAX_EVENTS, SessionSummary, summarize

facts = st.one_of(
    st.builds(PlanChanged, plans.plans.map(numbered), drift=st.integers(0, 9)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60)),
    st.just(Tripped(Bound.NUDGES, 20)),
    st.just(Labelled("e0", "start")),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
    st.builds(DirectiveSet, st.just(Directive.GO), st.integers(1, 9), st.just(1), st.just(Ledger(3, 1))),
)


def chain(*facts: Fact) -> list[Event]:
    """Events that follow one another, oldest first."""
    return [Event(f"e{i}", f"e{i - 1}" if i else None, i, Actor.AGENT, fact) for i, fact in enumerate(facts)]


def test_the_plan_is_the_newest_snapshot() -> None:
    """A change resets the nudges and keeps its drift; a nudge resets that a bound was reached."""
    events = chain(
        PlanChanged(plan_of("a")), Tripped(Bound.NUDGES, 20), Nudged(1, 1), PlanChanged(plan_of("b"), drift=2)
    )
    before = [latest_state(events[newest::-1]) for newest in range(3)]

    assert latest_state([]) == State()
    assert [(bool(state.tripped), state.nudges) for state in before] == [(False, 0), (True, 0), (False, 1)]
    assert latest_state(events[::-1]) == State("e3", plan_of("b"), 0, 2)


def test_reading_stops_at_the_newest_snapshot() -> None:
    """Older events are never read."""

    def endless() -> Iterator[Event]:
        newest = chain(PlanChanged(plan_of("a")), Nudged(1, 1), Labelled("e0", "x"))
        yield from newest[::-1]
        raise AssertionError("read past the snapshot")

    assert latest_state(endless()) == State("e2", plan_of("a"), 1, 1, since=1, ledger=Ledger(1, 1))


@given(st.lists(facts, max_size=8))
def test_reading_backwards_and_applying_forwards_agree(facts: list[Fact]) -> None:
    """A process that opens the session computes the same state as one that followed it."""
    state = State()
    for event in (events := chain(*facts)):
        state = apply_event(state, event)

    since_snapshot = next((i for i in reversed(range(len(events))) if isinstance(facts[i], PlanChanged)), None)
    if since_snapshot is not None:
        assert latest_state(reversed(events)) == state


def test_a_directive_holds_until_another_is_set() -> None:
    """It survives nudges, labels and changes of the plan; setting one resets every count."""
    events = chain(
        PlanChanged(plan_of("a")),
        Nudged(1, 1, StopFingerprint("files", "words"), 1),
        DirectiveSet(Directive.PAUSE),
        Labelled("e0", "x"),
        PlanChanged(plan_of("b"), directive=Directive.PAUSE),
        Nudged(1, 1),
        DirectiveSet(Directive.GO),
    )

    assert latest_state(events[2::-1]) == State("e2", plan_of("a"), directive=Directive.PAUSE)
    assert latest_state(events[3::-1]).directive is Directive.PAUSE
    assert latest_state(events[5::-1]).directive is Directive.PAUSE
    assert latest_state(events[::-1]) == State("e6", plan_of("b"))


def test_since_is_the_time_of_the_first_nudge_in_the_chain() -> None:
    """Changes without progress repeat it."""
    events = chain(
        PlanChanged(plan_of("a")), Nudged(1, 1), Nudged(2, 2), PlanChanged(plan_of("b"), drift=2, since=1), Nudged(1, 3)
    )

    assert [latest_state(events[newest::-1]).since for newest in range(5)] == [0, 1, 1, 1, 1]


def test_the_tasks_of_a_state_have_numbers_even_if_the_snapshot_has_none() -> None:
    """Snapshots of earlier versions and of other programs have none; the events stay as they are."""
    events = chain(PlanChanged(unnumbered_plan_of("a", "b")))

    assert latest_state(events[::-1]).plan == plan_of("a", "b")
    assert events[0].fact == PlanChanged(unnumbered_plan_of("a", "b"))


IMITATIONS = st.sampled_from(
    ['"status":"pending"', '"fact":"plan_changed"', '"directive":"stop"', '"course":"stop"', "\\", '"']
)


def text(fact: Fact) -> str:
    return encode(Event("e", None, 1, Actor.AGENT, fact))


def test_every_marker_is_written_by_the_codec_for_its_fact_and_no_other() -> None:
    facts: dict[str, Fact] = {
        summary.PLAN_CHANGED: PlanChanged(Plan()),
        summary.DIRECTIVE_SET[0]: DirectiveSet(Directive.GO),
        summary.TRIPPED: Tripped(Bound.NUDGES, 20),
        "": Nudged(1, 1),
    }

    for marker, fact in facts.items():
        assert [other for other in facts if other and other in text(fact)] == ([marker] if marker else [])

    assert (Directive.GO.value, Directive.STOP.value) == (summary.GO, summary.STOP)


def test_every_open_status_has_a_marker_and_no_other_status_has() -> None:
    """A new open status needs a marker; otherwise hooks would treat its tasks as closed."""
    markers = (summary.PENDING, summary.IN_PROGRESS, summary.BLOCKED)

    for status in Status:
        event = text(PlanChanged(Plan((Phase("", (Task("One", status),)),))))
        assert any(marker in event for marker in markers) is status.is_open


@given(st.lists(st.builds(Task, IMITATIONS | plans.texts, plans.statuses), max_size=4), st.sampled_from(Directive))
def test_texts_that_imitate_markers_do_not_affect_the_summary(tasks: list[Task], directive: Directive) -> None:
    call = Call("x", '{"status":"pending","directive":"stop","course":"stop"}')
    changed = PlanChanged(Plan((Phase('"status":"pending"', tuple(tasks)),)), call, directive=directive)

    found = summarize("head", [text(Labelled("e", '"fact":"tripped"')), text(changed)])

    workable = any(task.status.is_open and task.status is not Status.BLOCKED for task in tasks)
    blocked = any(task.status is Status.BLOCKED for task in tasks)
    assert found == SessionSummary("head", workable, blocked, directive.value)


def test_the_newest_directive_counts_and_a_person_who_spoke() -> None:
    changed, tripped = text(PlanChanged(Plan())), text(Tripped(Bound.NUDGES, 20))
    stopped = text(DirectiveSet(Directive.STOP))

    nudged, later = text(Nudged(1, 1)), text(PlanChanged(Plan(), ledger=Ledger(continued=2, began=1)))

    for last in ([tripped], [nudged], [later]):
        assert summarize("h", [*last, changed]) == SessionSummary("h", continued=True)
    assert summarize("h", [stopped, tripped, changed]) == SessionSummary("h", directive="stop")
    assert summarize("h", [stopped]) == SessionSummary("h", directive="stop")


@pytest.mark.parametrize("fact", [DirectiveSet(Directive.STOP), PlanChanged(Plan(), directive=Directive.STOP)])
def test_a_directive_under_the_names_of_older_stores_is_read(fact: DirectiveSet | PlanChanged) -> None:
    older = text(fact).replace('"directive_set"', '"steered"').replace('"directive"', '"course"')

    assert older != text(fact)
    assert decode(older) == decode(text(fact))
    assert summarize("h", [older]) == summarize("h", [text(fact)]) == SessionSummary("h", directive="stop")


def test_the_search_for_the_plan_stops_after_max_events() -> None:
    labels = [text(Labelled("e", "name"))] * MAX_EVENTS

    assert summarize("h", labels) == SessionSummary("h")
    assert summarize("h", [*labels, text(PlanChanged(Plan()))]) is None


SHAPE = {"a": None, "b": "a", "c": "b", "d": "b", "e": "d"}
EVENTS = [Event(name, parent, 0, Actor.USER, PlanChanged(plan_of())) for name, parent in SHAPE.items()]
TREE = by_id(EVENTS)


def ids(events: list[Event]) -> str:
    return "".join(event.id for event in events)


def test_a_branch_is_the_path_from_the_root_and_leaves_are_without_children() -> None:
    assert ids(branch(TREE, "e")) == "abde"
    assert branch(TREE, None) == []

    assert leaves(EVENTS) == ["c", "e"]


def test_the_newest_label_of_an_event_counts() -> None:
    """An empty label removes it, whether or not there was one."""
    named: list[Fact] = [
        Labelled("a", "first"),
        Labelled("b", "gone"),
        Labelled("a", "start"),
        Labelled("b", ""),
        Labelled("c", ""),
        PlanChanged(plan_of()),
    ]

    assert labels(Event(str(i), None, i, Actor.USER, fact) for i, fact in enumerate(named)) == {"a": "start"}


CHANGED = PlanChanged(plan_of("x"))
NEWEST_FIRST = [
    Event("e", "d", 5, Actor.USER, Labelled("a", "x")),
    Event("d", "c", 4, Actor.TIMER, Nudged(1, 1)),
    Event("c", "b", 3, Actor.AGENT, CHANGED),
    Event("b", "a", 2, Actor.TIMER, Nudged(1, 1)),
    Event("a", None, 1, Actor.AGENT, CHANGED),
]


def test_undo_moves_the_head_before_each_change() -> None:
    """The redo stack has the former heads, so that later nudges and labels are restored. Several are as one by one."""
    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 1) == SessionHead("b", ("e",))
    assert head_after_undo(SessionHead("e", ("x",)), NEWEST_FIRST, 2) == SessionHead(None, ("b", "e", "x"))

    once = head_after_undo(SessionHead("e"), NEWEST_FIRST, 1)
    twice = head_after_undo(once, NEWEST_FIRST[3:], 1)

    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 2) == twice
    assert head_after_redo(twice, 1) == once
    assert head_after_redo(twice, 2) == head_after_redo(once, 1) == SessionHead("e")


@pytest.mark.parametrize(
    ("newest_first", "ahead", "changes", "message"),
    [
        ([], (), 1, "nothing to {}"),
        (NEWEST_FIRST[-2:], ("a",), 2, "there is only 1 change to {}"),
        (NEWEST_FIRST, ("a", "b"), 3, "there are only 2 changes to {}"),
    ],
)
def test_more_changes_than_there_are_are_neither_undone_nor_redone(
    newest_first: list[Event], ahead: tuple[str, ...], changes: int, message: str
) -> None:
    with pytest.raises(Refused, match=message.format("undo")):
        head_after_undo(SessionHead("e"), newest_first, changes)
    with pytest.raises(Refused, match=message.format("redo")):
        head_after_redo(SessionHead("e", ahead), changes)


NUDGE = Event("e", None, 5, Actor.TIMER, Nudged(1, 1), Author("Ada", "claude:1"))


def test_only_what_is_known_is_written() -> None:
    """An event without it is the same text as before. A limit in dollars has cents."""
    assert '"used"' not in codec.encode(NUDGE)
    assert usage_out(UNKNOWN) == usage_out(None) == ""
    assert usage_out(AgentUsage(cost=0.41)) == '"used":{"cost":0.41},'
    assert usage_out(AgentUsage(1200, 300)) == '"used":{"in":1200,"out":300},'

    event = Event("e", None, 5, Actor.TIMER, Tripped(Bound.TASK_COST, 0.5))

    assert codec.decode(codec.encode(event)) == event


@pytest.mark.parametrize(
    "data",
    [None, "much", [], {}, {"in": "1"}, {"in": True, "out": -1, "cost": False}, {"cost": -0.1}, {"cost": float("inf")}],
)
def test_invalid_amounts_are_unknown(data: object) -> None:
    """They are not worth losing an event."""
    assert usage_in(data) is None


def test_sums_and_differences_have_every_amount_that_is_known() -> None:
    """One invalid amount leaves the others. One that became smaller was counted again from 0."""
    assert usage_in({"in": 5, "out": "x", "cost": 2}) == AgentUsage(5, None, 2)
    assert (AgentUsage(5, 2).tokens, AgentUsage(None, 2).tokens, AgentUsage(cost=1).tokens) == (7, 2, None)
    assert added(AgentUsage(5, None, 1), AgentUsage(2, 3)) == AgentUsage(7, 3, 1)

    assert since(AgentUsage(5, 2, 0.5), AgentUsage(9, 2, 0.75)) == AgentUsage(4, 0, 0.25)
    assert since(UNKNOWN, AgentUsage(9, cost=1)) == AgentUsage(9, None, 1)

    assert since(AgentUsage(50, 20, 5), AgentUsage(7, 30, 1)) == AgentUsage(7, 10, 1)


def test_the_text_of_a_usage_is_read_back() -> None:
    for usage in (AgentUsage(5, 7, 0.25), AgentUsage(cost=2.0), AgentUsage(tokens_out=3)):
        assert usage_of_text(usage_text(usage)) == usage
    for text in ("", "{", "{}", "[]", '{"in": -1}'):
        assert usage_of_text(text) is None


class Counting(MemoryStore):
    """A store that counts how many events were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        return self._counted(super().history(session, head))

    def events(self, session: str) -> Iterator[Event]:
        return self._counted(super().events(session))

    def _counted(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            self.read += 1
            yield event


def store_with(*chain: tuple[str, str | None, Labelled | Nudged | PlanChanged]) -> Counting:
    """A store with one session `s` of these events, the last of which is the head."""
    store = Counting()
    events = [Event(name, parent, 1, Actor.USER, fact) for name, parent, fact in chain]
    store.import_events("s", events, SessionHead(events[-1].id))
    return store


def changed(*texts: str) -> PlanChanged:
    return PlanChanged(plan_of(*texts))


STORE = store_with(
    ("0aa1", None, changed("a")),
    ("0aa2", "0aa1", changed("a", "b")),
    ("0bb1", "0aa2", Nudged(1, 1)),
    ("0bb2", "0bb1", changed("a")),
    ("0cc1", "0bb2", Labelled("0aa2", "second")),
)


def test_references_resolve_to_events() -> None:
    """`~N` counts changes of the plan; nudges and labels are skipped."""
    refs = {
        "0cc1": ("head", "HEAD", "0c", "~0"),
        "0bb1": ("~1", "head~1", "head~"),
        "0aa2": ("0aa2", "second", "0aa2~0"),
        "0aa1": ("head~2", "second~1", "0bb1~1"),
        None: ("root", "head~3"),
    }

    assert {event: {resolve(STORE, "s", ref) for ref in names} for event, names in refs.items()} == {
        event: {event} for event in refs
    }


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("nope", "no event has the label or id 'nope', and no id begins with it"),
        ("0a", "'0a' matches 2 events: 0aa1, 0aa2"),
        ("0bb~1", "'0bb' matches 2 events: 0bb1, 0bb2"),
        ("0", "'0' matches 5 events: 0aa1, 0aa2, 0bb1, 0bb2, 0cc1"),
        ("head~4", "'head~4' goes back too far: 3 changes lead there"),
        ("0aa1~2", "'0aa1~2' goes back too far: 1 change leads there"),
        ("root~1", "'root~1' goes back too far: 0 changes lead there"),
        (f"~{'9' * 5000}", "goes back too far: 3 changes lead there"),
        ("head~x", "no event has the label or id 'head~x'"),
        ("", "an empty name names no event"),
        (" ", "an empty name names no event"),
    ],
)
def test_unknown_and_ambiguous_references_are_refused(ref: str, message: str) -> None:
    """The error lists the matching events, if any."""
    with pytest.raises(NotFound, match=re.escape(message)):
        resolve(STORE, "s", ref)


def test_only_some_of_many_matches_are_listed() -> None:
    """Their ids are shortened as far as they stay unique."""
    chain = [(f"0123456789{n:02}", f"0123456789{n - 1:02}" if n else None, changed("a")) for n in range(12)]

    with pytest.raises(NotFound, match=r"matches 12 events: 012345678900, 012345678901, .*, 012345678904, …"):
        resolve(store_with(*chain), "s", "01")


def test_a_label_takes_precedence_over_a_prefix() -> None:
    """A whole id takes precedence over a label. A label may contain `~`."""
    store = store_with(
        ("0aa1", None, changed("a")),
        ("0aa2", "0aa1", changed("a", "b")),
        ("0bb1", "0aa2", changed("b")),
        ("0cc1", "0bb1", Labelled("0bb1", "0aa")),
        ("0cc2", "0cc1", Labelled("0aa2", "0aa1")),
        ("0cc3", "0cc2", Labelled("0cc1", "odd~1")),
    )

    assert resolve(store, "s", "0aa") == "0bb1"
    assert resolve(store, "s", "0aa1") == "0aa1"
    assert resolve(store, "s", "odd~1") == "0cc1"
    assert [resolve(MemoryStore(), "s", name) for name in ("head", "root")] == [None, None]


def test_a_label_names_the_event_that_got_it_last() -> None:
    """Not an event that lost it, nor one that is not in the session."""
    store = store_with(
        ("a", None, changed("a")),
        ("b", "a", changed("b")),
        ("x", "b", Labelled("a", "old")),
        ("c", "x", Labelled("b", "here")),
        ("d", "c", Labelled("a", "here")),
        ("e", "d", Labelled("b", "there")),
        ("f", "e", Labelled("b", "")),
        ("g", "f", Labelled("gone", "far")),
    )

    assert events_by_label(islice(store.events("s"), 5)) == {"here": "a"}
    assert events_by_label(store.events("s")) == {"here": "a", "far": "gone"}
    assert resolve(store, "s", "here") == "a"
    for ref in ("there", "far"):
        with pytest.raises(NotFound, match="no event has the label or id"):
            resolve(store, "s", ref)


@pytest.mark.parametrize(("ref", "max_read"), [("head", 0), ("root", 0), ("e500", 0), ("head~3", 4), ("e500~3", 4)])
def test_only_as_much_history_is_read_as_necessary(ref: str, max_read: int) -> None:
    """Only labels and prefixes require reading every event."""
    store = store_with(*((f"e{n}", f"e{n - 1}" if n else None, changed("a")) for n in range(1000)))

    resolve(store, "s", ref)

    assert store.read <= max_read


def test_short_ids_are_unique_prefixes() -> None:
    assert short_ids(["01m7ev36estb1cfc", "01m7ev36estzzzzz", "01m7ev38dgtttttt"]) == {
        "01m7ev36estb1cfc": "01m7ev36estb",
        "01m7ev36estzzzzz": "01m7ev36estz",
        "01m7ev38dgtttttt": "01m7ev38dgtt",
    }
    assert short_ids(["01m7ev36estb1cfc"]) == {"01m7ev36estb1cfc": "01m7ev36es"}
    assert short_ids(["short", "short"]) == {"short": "short"}
    assert short_ids([]) == {}


def test_a_label_must_not_be_empty_or_another_kind_of_reference() -> None:
    """Any other text is valid, even one that looks like a prefix of an id."""
    valid = ["v1", "before lunch", "0a", "日本語", "headless", "root-cause"]

    assert [name for name in ["", " ", "head", "Root", "a~1", "~", *valid] if label_problem(name) is None] == valid


FIRST = Claim(1, 1, 9, Claimant("ada"))
SUCCESSOR = Claim(1, 2, 12, Claimant("bob"), Claimant("ada"))
OTHER = Claim(2, 1, 9, Claimant("ada"))


def test_the_claim_with_the_highest_epoch_counts_in_any_order() -> None:
    assert newest([SUCCESSOR, FIRST, OTHER]) == newest([OTHER, FIRST, SUCCESSOR]) == {1: SUCCESSOR, 2: OTHER}


def test_an_agent_that_gives_all_back_keeps_no_claim_that_it_has_lost() -> None:
    """The claim of its successor stays as it is. Some tasks may be given back alone."""
    after = released([FIRST, SUCCESSOR, OTHER], "ada", None)

    assert [(claim.task, claim.agent, claim.until) for claim in after] == [(1, "bob", 12), (2, "ada", RELEASED)]
    assert released([FIRST, SUCCESSOR, OTHER], "ada", frozenset({1})) == [SUCCESSOR, OTHER]


def test_claims_follow_their_model() -> None:
    run_machine(lambda: Claiming(MemoryStore()), settings(max_examples=25, stateful_step_count=20))


def test_the_check_of_a_store_tells_its_first_errors() -> None:
    """Or that everything is intact; what cannot be read any more is an error like the others."""

    def unreadable() -> Iterator[str]:
        yield "an event is missing"
        raise NotFound("no such page")

    def told(errors: Iterable[str]) -> list[tuple[Severity, str]]:
        found = error_findings(errors, "restore a backup", NotFound, lambda: (1, 1200))
        return [(finding.severity, finding.what) for finding in found]

    assert told([]) == [(Severity.OK, "1 session and 1,200 events, all intact")]
    assert told(unreadable()) == [
        (Severity.ERROR, "an event is missing"),
        (Severity.ERROR, "the rest cannot be read: no such page"),
    ]
    assert told(str(number) for number in count())[-1] == (Severity.ERROR, "there are more errors")
