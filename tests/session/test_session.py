"""`Session`: calls, edits, ends of turns, undo and redo."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.plans import COMPLETED, IN_PROGRESS, plan_of, session_on
from tildone.base.errors import HeadMoved, Refused, UnknownEvent
from tildone.log.session import Session
from tildone.plan.dialects.arguments import MAX_ARGUMENT_CHARACTERS
from tildone.plan.events import Actor, Bound, Call, Directive, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.plan.gate import GiveUp, GoOn, Patience, Rest, RestReason, Turn
from tildone.plan.model import Phase, Plan, Task, flat, numbered
from tildone.plan.ops import Append, At, Mark, Op, Write
from tildone.run.extensions.skeleton import store_is_ahead
from tildone.stores.memory import MemoryStore

ADD_TWO = {"mode": "append", "todos": [{"text": "a"}, {"text": "b"}]}
FREE = Write((Phase("", (Task("a"), Task("b"))),))


def facts(session: Session) -> list[str]:
    return [type(event.fact).__name__ for event in session.store.events(session.name)]


def test_a_call_changes_the_plan_and_is_recorded() -> None:
    """The event holds the whole plan, the actor, and the call."""
    session = session_on()

    reply = session.call("write_todos", ADD_TWO)

    (event,) = session.store.events("s")
    call = Call("write_todos", '{"mode":"append","todos":[{"text":"a"},{"text":"b"}]}')
    assert reply.text == "Appended 2 item(s)\n\n– [0] a\n– [1] b"
    assert event.fact == PlanChanged(plan_of("a", "b"), call)
    assert (event.actor, event.parent) == (Actor.AGENT, None)


def test_a_call_that_changes_nothing_is_not_recorded() -> None:
    """Reading, a refused call, and a write of the same plan."""
    session = session_on()
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})

    session.call("list_todos", {})
    session.call("edit_todos", {"action": "start", "indices": [4]})
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})

    assert facts(session) == ["PlanChanged"]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("no_such", {}, "unknown tool 'no_such'; known are write_todos, list_todos, edit_todos"),
        ("write_todos", "{", "expected JSON: Expecting property name"),
        ("write_todos", "[" * 50_000, "expected JSON: nested too deeply"),
        ("write_todos", "null", "expected an object, got null"),
        ("write_todos", '{"mode": NaN}', "expected JSON: NaN is not JSON"),
        (
            "write_todos",
            " " * (MAX_ARGUMENT_CHARACTERS + 1),
            "expected at most 1000000 characters of JSON, got 1000001",
        ),
        ("write_todos", {"mode": "replace"}, "todos: required, an array"),
        ("write_todos", {"mode": "x", "todos": []}, "mode: expected one of replace, append, insert, got 'x'"),
        (
            "write_todos",
            {"mode": "append", "todos": [{"text": None}]},
            "todos[0].text: expected a string, got null",
        ),
        ("write_todos", {"mode": "append", "todos": [{"text": " "}]}, "todos[0].text: expected some text"),
        ("edit_todos", {"action": "start", "indices": [True]}, "indices[0]: expected an integer, got true"),
    ],
)
def test_an_invalid_call_gets_an_error_that_names_the_field_and_changes_nothing(
    tool: str, arguments: str | dict[str, Any], message: str
) -> None:
    """Unknown tools, malformed JSON, wrong types, missing fields, huge input."""
    session = session_on()

    reply = session.call(tool, arguments)

    assert message in reply.text
    assert reply.text.startswith("Error: ")
    assert (reply.is_error, reply.details) == (True, {})
    assert facts(session) == []


def test_arguments_may_be_json_text() -> None:
    session = session_on()

    session.call("write_todos", '{"mode": "append", "todos": [{"text": "a"}], "extra": 1}')

    assert session.plan == plan_of("a")


def test_a_person_edits_under_the_same_rules() -> None:
    """The change is recorded as the person's."""
    session = session_on()

    outcome = session.change([FREE, Mark(At((0,)), COMPLETED)])
    refused = session.change([Append((Task("x" * 1001),))])

    (event,) = session.store.events("s")
    assert outcome.after == session.plan == numbered(flat(Task("a", COMPLETED), Task("b")))
    assert event.actor is Actor.USER
    assert refused.faults
    assert not refused.changed


def test_two_sessions_in_one_store_do_not_share_a_plan() -> None:
    store = MemoryStore()
    one, other = session_on(store, name="one"), session_on(store, name="other")

    one.call("write_todos", ADD_TWO)

    assert other.plan == Plan()


def test_two_processes_on_one_session_lose_no_changes() -> None:
    """A decision on a stale plan is repeated on the new one."""
    store = MemoryStore()
    one, other = session_on(store, prefix="a"), session_on(store, prefix="b")

    for session, text in zip(itertools.cycle((one, other)), "abcdef", strict=False):
        session.call("write_todos", {"mode": "append", "todos": [{"text": text}]})

    assert one.plan == other.plan == plan_of(*"abcdef")


class Contended(MemoryStore):
    """A store in which another writer is faster, a few times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.theirs = itertools.count()

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        if self.times:
            self.times -= 1
            current = self.session_head(session)
            fact = PlanChanged(flat(*(Task(f"theirs {i}") for i in range(self.times + 1))))
            super().append(session, Event(f"x{next(self.theirs)}", current.head, 0, Actor.USER, fact))
            raise HeadMoved(session)
        super().append(session, event, seen_by)

    def move_head(self, session: str, to: Any, *, expected: str | None) -> None:
        if self.times:
            self.times -= 1
            raise HeadMoved(session)
        super().move_head(session, to, expected=expected)


def test_a_slower_writer_decides_again() -> None:
    """The change is applied to the plan that is current when it is written."""
    session = session_on(Contended(3))

    session.call("write_todos", {"mode": "append", "todos": [{"text": "mine"}]})

    assert session.plan == plan_of("theirs 0", "mine")


def test_nudges_and_labels_are_retried_too() -> None:
    """Each follows the head that is current in the end."""
    session = session_on(Contended(1))
    session.call("write_todos", ADD_TWO)
    session.store.times = 2  # type: ignore[attr-defined]  # the Contended store above

    assert isinstance(session.turn_ended().decision, GoOn)
    session.store.times = 1  # type: ignore[attr-defined]  # the Contended store above
    session.label("x0", "start")

    assert facts(session)[-1] == "Labelled"


def test_the_end_of_a_turn_with_open_tasks_causes_a_nudge() -> None:
    """The agent is told what is left, and the nudge is recorded."""
    session = session_on()
    session.call("write_todos", ADD_TWO)

    verdict = session.turn_ended()

    assert verdict.decision == GoOn(0, Task("a", number=1))
    assert verdict.prompt is not None
    assert verdict.prompt.endswith("Next action: edit_todos with action 'start' and indices [0]")
    assert session.state.nudges == 1
    assert facts(session) == ["PlanChanged", "Nudged"]


def test_an_agent_without_progress_is_nudged_twenty_times() -> None:
    """Reaching the bound is recorded once."""
    session = session_on()
    session.call("write_todos", ADD_TWO)

    decisions = [session.turn_ended().decision for _ in range(23)]

    assert [type(decision) for decision in decisions] == [GoOn] * 20 + [GiveUp] * 3
    assert facts(session) == ["PlanChanged", *["Nudged"] * 20, "Tripped"]
    tripped = [event.fact for event in session.store.events("s")][-1]
    assert tripped == Tripped(Bound.NUDGES, 20)


def test_a_change_of_the_plan_resets_the_nudge_count() -> None:
    """Rewriting the same plan does not."""
    session = session_on()
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    session.turn_ended()

    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    assert session.state.nudges == 1
    session.call("edit_todos", {"action": "start", "indices": [0]})
    assert (session.state.nudges, session.state.drift) == (0, 1)
    session.call("edit_todos", {"action": "complete", "indices": [0]})
    assert session.state.drift == 0


def test_counts_can_be_reset_under_any_directive() -> None:
    """Without a nudge, there is nothing to reset."""
    session = session_on()
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    session.reset_counts()
    assert facts(session) == ["PlanChanged"]
    session.turn_ended()
    session.set_directive(Directive.PAUSE)
    session.turn_ended()

    session.reset_counts()

    assert (session.state.nudges, session.state.drift, session.state.directive) == (0, 0, Directive.PAUSE)


def test_resetting_the_counts_resets_tripped() -> None:
    """The agent is nudged again."""
    session = session_on(patience=Patience(nudges=1))
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    session.turn_ended()
    assert isinstance(session.turn_ended().decision, GiveUp)

    session.reset_counts()

    assert isinstance(session.turn_ended().decision, GoOn)


def test_an_agent_that_keeps_toggling_a_status_reaches_the_drift_bound() -> None:
    """Each change resets the nudge count, but not the drift."""
    session = session_on(patience=Patience(nudges=20, drift=30))
    session.call("write_todos", ADD_TWO)

    decisions = []
    for turn in range(31):
        session.call("edit_todos", {"action": "start", "indices": [turn % 2]})
        session.change([Mark(At(((turn + 1) % 2,)), plans.PENDING)])
        decisions.append(session.turn_ended().decision)

    assert [type(decision) for decision in decisions] == [GoOn] * 30 + [GiveUp]
    assert decisions[-1] == GiveUp(Bound.DRIFT, 30)


def test_resting_is_not_recorded() -> None:
    """After an interrupted or failed turn, or when the plan is finished."""
    session = session_on()
    session.call("write_todos", ADD_TWO)

    assert session.turn_ended(Turn(aborted=True)).decision == Rest(RestReason.ABORTED)
    assert session.turn_ended(Turn(errored=True)).decision == Rest(RestReason.ERRORED)
    session.call("edit_todos", {"action": "complete", "indices": [0, 1]})
    assert session.turn_ended().decision == Rest(RestReason.ALL_DONE)

    assert "Nudged" not in facts(session)


def test_a_new_process_knows_how_often_the_agent_was_nudged() -> None:
    """The count comes from the log."""
    store = MemoryStore()
    session_on(store).call("write_todos", ADD_TWO)
    for prefix in "xyz":
        session_on(store, prefix=prefix).turn_ended()

    assert session_on(store).state.nudges == 3


def test_the_context_is_the_plan_while_tasks_are_open() -> None:
    """Otherwise, there is none."""
    session = session_on()
    assert session.context() is None

    session.call("write_todos", ADD_TWO)

    assert session.context() == (
        "[TILL-DONE ACTIVE]\n\nCurrent todo list:\n– [0] a\n– [1] b\n\n2 item(s) remaining. Continue working "
        "through the list. Call edit_todos with action 'start' on the next item before working on it, then "
        "'complete' when done."
    )


def test_undo_and_redo_move_over_changes() -> None:
    """Nudges in between do not count as changes."""
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.turn_ended()
    session.call("edit_todos", {"action": "start", "indices": [0]})
    seen = session.plan

    assert session.undo().after == plan_of("a", "b")
    assert session.state.nudges == 1
    assert session.undo().after == Plan()
    with pytest.raises(Refused, match="nothing to undo"):
        session.undo()
    assert session.redo().after == plan_of("a", "b")
    assert session.redo().after == seen
    with pytest.raises(Refused, match="nothing to redo"):
        session.redo()


def test_a_change_after_undo_begins_a_branch_and_clears_the_redo_stack() -> None:
    """The undone change is still in the log, on its own branch."""
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.undo()
    session.call("write_todos", {"mode": "append", "todos": [{"text": "other"}]})

    with pytest.raises(Refused, match="nothing to redo"):
        session.redo()
    assert session.plan == plan_of("other")
    assert session.store.leaves("s") == ["e0", "e1"]


def test_checkout_restores_the_plan_of_an_event() -> None:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.call("edit_todos", {"action": "start", "indices": [0]})

    assert session.checkout("e0") == plan_of("a", "b")
    with pytest.raises(UnknownEvent, match="nowhere"):
        session.checkout("nowhere")


def test_moving_the_head_is_retried() -> None:
    """Another writer moved the head first."""
    store = Contended(0)
    session = session_on(store)
    session.call("write_todos", ADD_TWO)
    store.times = 2

    session.undo()

    assert session.plan == Plan()


def test_a_former_plan_of_the_branch_is_found() -> None:
    """Undone plans are not found."""
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.call("edit_todos", {"action": "start", "indices": [0]})

    assert store_is_ahead(session, plan_of("a", "b"))
    assert not store_is_ahead(session, plan_of("a"))
    session.undo()
    assert not store_is_ahead(session, flat(Task("a", IN_PROGRESS), Task("b")))


def test_only_events_of_the_session_can_be_labelled() -> None:
    session = session_on()
    session.call("write_todos", ADD_TWO)

    session.label("e0", "the beginning")

    assert [event.fact for event in session.store.events("s")][-1] == Labelled("e0", "the beginning")
    assert session.plan == plan_of("a", "b")
    with pytest.raises(UnknownEvent, match="e9"):
        session.label("e9", "x")


def test_nudges_are_recorded_as_the_timers() -> None:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.turn_ended()

    assert [event.actor for event in session.store.events("s")] == [Actor.AGENT, Actor.TIMER]
    assert [event.fact for event in session.store.events("s")][-1] == Nudged(1, 1)


@settings(max_examples=60)
@given(st.lists(plans.ops, max_size=6))
def test_undo_and_redo_restore_every_plan(program: list[Op]) -> None:
    """Undo back to the beginning, and redo to the end."""
    session = session_on()
    outcomes = [session.change([op]) for op in program]
    seen = [Plan(), *(outcome.after for outcome in outcomes if outcome.changed)]

    back = list(_repeat(session.undo))
    forth = list(_repeat(session.redo))

    assert back == seen[-2::-1]
    assert forth == seen[1:]


def _repeat(step: Any) -> Iterator[Plan]:
    while True:
        try:
            yield step().after
        except Refused:
            return


def test_the_prompt_tells_the_agent_to_complete_a_started_task() -> None:
    """The prompt names the action and the position, never the text."""
    session = session_on()
    session.call("write_todos", ADD_TWO)
    session.call("edit_todos", {"action": "start", "indices": [1]})

    prompt = session.turn_ended().prompt

    assert session.plan.tasks[1].status is IN_PROGRESS
    assert prompt is not None
    assert prompt.endswith("\n\nNext action: edit_todos with action 'complete' and indices [1]")
