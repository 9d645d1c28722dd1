"""`Session`: calls, edits, ends of turns, undo and redo, directives, authors, and others who change the plan."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, plan_of, session_on
from tildone.base import HeadMoved, UnknownEvent
from tildone.log.session import MAX_OWN_EVENTS, Session, SessionParts
from tildone.plan.dialects import Dialect
from tildone.plan.dialects.arguments import MAX_ARGUMENT_CHARACTERS
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.events import Actor, Author, Bound, Call, Directive, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.plan.faults import TooManyTasks
from tildone.plan.gate import GiveUp, GoOn, Rest, RestReason, Turn
from tildone.plan.holding import left_over
from tildone.plan.model import Check, Phase, Plan, Rules, Task, flat, numbered, open_tasks
from tildone.plan.ops import Append, At, Mark, Numbered, Rename, SetCheck, Write
from tildone.plan.reduce import Step
from tildone.run.extensions.skeleton import store_is_ahead
from tildone.stores.memory import MemoryStore

ADD_TWO = {"mode": "append", "todos": [{"text": "a"}, {"text": "b"}]}
FREE = Write((Phase("", (Task("a"), Task("b"))),))


def with_two() -> Session:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    return session


def facts(session: Session) -> list[str]:
    return [type(event.fact).__name__ for event in session.store.events(session.name)]


def test_a_call_changes_the_plan_and_is_recorded() -> None:
    """The event holds the whole plan, the actor, and the call, whose arguments may be JSON text."""
    session = session_on()

    reply = session.call("write_todos", ADD_TWO)

    (event,) = session.store.events("s")
    call = Call("write_todos", '{"mode":"append","todos":[{"text":"a"},{"text":"b"}]}')
    assert reply.text == "Appended 2 item(s)\n\n– [0] a\n– [1] b"
    assert event.fact == PlanChanged(plan_of("a", "b"), call)
    assert (event.actor, event.parent, event.author) == (Actor.AGENT, None, Author())
    session.call("write_todos", '{"mode": "append", "todos": [{"text": "c"}], "extra": 1}')
    assert session.plan == plan_of("a", "b", "c")


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
        ("write_todos", {"mode": "append", "todos": [{"text": None}]}, "todos[0].text: expected a string, got null"),
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
    """The change is applied to the plan that is current when it is written. So are nudges, labels and moves."""
    store = Contended(3)
    session = session_on(store)

    session.call("write_todos", {"mode": "append", "todos": [{"text": "mine"}]})
    assert session.plan == plan_of("theirs 0", "mine")

    store.times = 2
    assert isinstance(session.turn_ended().decision, GoOn)
    store.times = 1
    session.label("x0", "start")
    assert facts(session)[-1] == "Labelled"

    moved = Contended(0)
    session = session_on(moved)
    session.call("write_todos", ADD_TWO)
    moved.times = 2
    session.undo()
    assert session.plan == Plan()


def test_the_end_of_a_turn_with_open_tasks_causes_a_nudge() -> None:
    """The agent is told what is left, by action and position, never by text; the nudge is recorded as the timer's."""
    session = with_two()

    verdict = session.turn_ended()

    assert verdict.decision == GoOn(0, Task("a", number=1))
    assert verdict.prompt is not None
    assert verdict.prompt.endswith("\n\nNext action: edit_todos with action 'start' and indices [0]")
    assert session.state.nudges == 1
    changed, nudged = session.store.events("s")
    assert (changed.actor, nudged.actor, nudged.fact) == (Actor.AGENT, Actor.TIMER, Nudged(1, 1))
    session.call("edit_todos", {"action": "start", "indices": [1]})
    prompt = session.turn_ended().prompt
    assert prompt is not None
    assert prompt.endswith("\n\nNext action: edit_todos with action 'complete' and indices [1]")


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


def test_resting_is_not_recorded() -> None:
    """After an interrupted or failed turn, or when the plan is finished."""
    session = with_two()

    assert session.turn_ended(Turn(aborted=True)).decision == Rest(RestReason.ABORTED)
    assert session.turn_ended(Turn(errored=True)).decision == Rest(RestReason.ERRORED)
    session.call("edit_todos", {"action": "complete", "indices": [0, 1]})
    assert session.turn_ended().decision == Rest(RestReason.ALL_DONE)

    assert "Nudged" not in facts(session)


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


def test_a_former_plan_of_the_branch_is_found() -> None:
    """Undone plans are not found."""
    session = with_two()
    session.call("edit_todos", {"action": "start", "indices": [0]})

    assert store_is_ahead(session, plan_of("a", "b"))
    assert not store_is_ahead(session, plan_of("a"))
    session.undo()
    assert not store_is_ahead(session, flat(Task("a", IN_PROGRESS), Task("b")))


def test_only_events_of_the_session_can_be_labelled_or_checked_out() -> None:
    session = with_two()

    session.label("e0", "the beginning")

    assert [event.fact for event in session.store.events("s")][-1] == Labelled("e0", "the beginning")
    assert session.plan == plan_of("a", "b")
    with pytest.raises(UnknownEvent, match="e9"):
        session.label("e9", "x")
    with pytest.raises(UnknownEvent, match="nowhere"):
        session.checkout("nowhere")


def test_a_change_can_use_other_rules() -> None:
    """The dialect would start the first task; other rules leave it pending."""
    session = session_on(dialect=PHASED)

    as_it_is = session.change((Append((Task("a"),), "A"),), Actor.USER, Rules()).after
    settled = session.change((Append((Task("b"),), "A"),)).after

    assert as_it_is == numbered(Plan((Phase("A", (Task("a"),)),)))
    assert settled == numbered(Plan((Phase("A", (Task("a", IN_PROGRESS), Task("b"))),)))


def test_a_change_computed_from_the_plan_is_computed_again_if_another_writer_was_faster() -> None:
    """Both changes are applied, although the second one writes the whole plan."""
    store = MemoryStore()
    slow, fast = session_on(store, prefix="s"), session_on(store, prefix="f")
    slow.change((Append((Task("a"),)),))
    seen: list[int] = []

    def with_one_more(plan: Plan) -> tuple[Step, ...]:
        if not seen:
            fast.change((Append((Task("b"),)),))
        seen.append(len(plan.tasks))
        [phase] = plan.phases
        return (Write((Phase("", (*phase.tasks, Task("c"))),)),)

    slow.change(with_one_more)

    assert seen == [1, 2]
    assert [task.text for task in slow.plan.tasks] == ["a", "b", "c"]


def test_a_change_is_decided_on_the_current_state() -> None:
    """Whether it changes anything, too. In the state that this session read last, a position was out of range."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])

    theirs.change([Append((Task("two"),))])
    outcome = mine.change([Mark(At((1,)), COMPLETED)])
    assert outcome.faults == ()
    assert outcome.after.tasks[1] == Task("two", COMPLETED, number=2)

    theirs.undo()
    assert mine.change([Mark(At((1,)), COMPLETED)]).changed
    assert theirs.plan == outcome.after


@pytest.mark.parametrize("directive", [Directive.PAUSE, Directive.STOP])
def test_a_paused_agent_is_left_alone_until_the_directive_is_go(directive: Directive) -> None:
    """A change of the plan does not end the pause, nor do counts that are reset. What holds is not set again."""
    session = with_two()
    assert not session.set_directive(Directive.GO)
    session.turn_ended()

    assert session.set_directive(directive)
    paused, head = session.turn_ended().decision, session.state.head
    assert not session.set_directive(directive)
    assert session.state.head == head
    session.call("edit_todos", {"action": "start", "indices": [0]})
    session.reset_counts()
    still = session.turn_ended().decision
    assert (session.state.nudges, session.state.drift, session.state.directive) == (0, 0, directive)
    assert session.set_directive(Directive.GO)

    assert paused == still == Rest(RestReason.PAUSED)
    assert isinstance(session.turn_ended().decision, GoOn)


@pytest.mark.parametrize(
    "reset",
    [lambda session: session.set_directive(Directive.GO), lambda session: session.reset_counts()],
    ids=["go", "a person who speaks"],
)
def test_an_agent_without_progress_is_nudged_twenty_times_until_every_count_is_reset(
    reset: Callable[[Session], object],
) -> None:
    """Reaching the bound is recorded once. Without a nudge, there is nothing to reset."""
    session = with_two()
    session.reset_counts()
    assert facts(session) == ["PlanChanged"]

    decisions = [session.turn_ended().decision for _ in range(23)]

    assert [type(decision) for decision in decisions] == [GoOn] * 20 + [GiveUp] * 3
    assert decisions[-1] == GiveUp(Bound.NUDGES, 20)
    assert facts(session) == ["PlanChanged", *["Nudged"] * 20, "Tripped"]
    assert [event.fact for event in session.store.events("s")][-1] == Tripped(Bound.NUDGES, 20)
    reset(session)
    assert (session.state.nudges, session.state.drift, session.state.tripped) == (0, 0, None)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_nudge_that_was_not_delivered_is_taken_back_once() -> None:
    """It does not count. Any other event stays."""
    session = with_two()
    for _ in range(2):
        session.turn_ended()

    assert [session.retract_nudge(), session.state.nudges] == [True, 1]
    assert [session.retract_nudge(), session.state.nudges] == [True, 0]
    assert not session.retract_nudge()
    assert [task.text for task in session.plan.tasks] == ["a", "b"]


def test_undo_redo_and_checkout_keep_the_current_directive() -> None:
    """Where there is no plan, and where one is found again. One that was in force at an event does not return."""
    session = with_two()
    session.set_directive(Directive.PAUSE)
    paused = session.state.head or ""

    assert session.undo().after == Plan()
    assert session.turn_ended().decision == Rest(RestReason.NO_PLAN)
    undone = session.state.directive
    assert session.redo().after == plan_of("a", "b")
    assert session.turn_ended().decision == Rest(RestReason.PAUSED)

    session.set_directive(Directive.GO)
    session.checkout(paused)
    assert (undone, session.state.directive) == (Directive.PAUSE, Directive.GO)


CLAUDE = Author("Ada", "claude:1", "opus")


def by(author: Callable[[Actor], Author], store: MemoryStore | None = None) -> Session:
    clock = iter(range(1, 1000))
    return Session(store or MemoryStore(), "s", INDEXED, now=lambda: 0, new_id=lambda: f"e{next(clock)}", author=author)


def author_of(actor: Actor) -> Author:
    return Author("Ada") if actor is Actor.USER else CLAUDE


def test_each_event_has_the_author_of_its_actor() -> None:
    """A nudge has the agent on whose behalf the timer acted. The author is looked up only for what is written."""
    asked: list[Actor] = []

    def author(actor: Actor) -> Author:
        asked.append(actor)
        return author_of(actor)

    session = by(author)
    session.call("list_todos", {})
    session.call("edit_todos", {"action": "complete", "indices": [3]})
    session.turn_ended()
    session.context()
    assert asked == []
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    assert set(asked) == {Actor.AGENT}
    session.change((Append((Task("b"),)),))
    session.turn_ended()
    session.set_directive(Directive.PAUSE)
    session.label("e1", "begin")

    events = list(session.store.events("s"))

    agents, persons = (Actor.AGENT, CLAUDE), (Actor.USER, Author("Ada"))
    assert [(each.actor, each.author) for each in events] == [agents, persons, (Actor.TIMER, CLAUDE), persons, persons]


def test_tasks_of_a_person_stay_so_when_the_agent_writes_the_list_anew() -> None:
    """An import by a person is from the user. A host imports the plan of its conversation when it resumes."""
    session = by(author_of)
    session.change((Append((Task("theirs"),)),))

    session.call("write_todos", {"mode": "replace", "todos": [{"text": "own"}, {"text": "theirs"}]})

    assert [(task.text, task.from_user) for task in session.plan.tasks] == [("own", False), ("theirs", True)]

    person, agent = by(lambda _: Author("Ada")), by(author_of)
    for session in (person, agent):
        session.change((Write(()), Append((Task("a"),))), Actor.IMPORT)

    assert [person.plan.tasks[0].from_user, agent.plan.tasks[0].from_user] == [True, False]


def test_the_tasks_of_a_person_do_not_keep_an_agent_from_planning() -> None:
    """What the agent wrote itself counts, and a person's own additions are bounded by the whole plan."""
    session, few = by(author_of).using(dialect=BRIEF), Rules(max_tasks=3)
    session.change((Append(tuple(Task(f"theirs {number}") for number in range(500))),), rules=Rules())

    assert session.call("todo", {"add": ["own"]}).text.startswith("501\n")
    assert not session.change((Append((Task("b"), Task("c"))),), Actor.AGENT, few).faults
    assert session.change((Append((Task("d"),)),), Actor.AGENT, few).faults == (TooManyTasks(1, 503, 503),)
    assert session.change((Append((Task("e"),)),), rules=few).faults == (TooManyTasks(1, 3, 503),)


def test_calls_of_an_agent_at_the_same_time_are_not_changes_of_others() -> None:
    """In processes of their own. A person's change among them, and one that was taken back, are told."""
    store = MemoryStore()
    session, another = (conversation(name, store).using(reader=name) for name in "ab")
    session.call("todo", {"add": ["a", "b", "c", "d"]})
    seen = session.seen_head

    def late(arguments: dict[str, Any]) -> str:
        """A call by a process that has read what the model knows before the others wrote."""
        store.records.set_seen("s", "a", seen)
        return session.call("todo", arguments).text

    session.call("todo", {"start": 1})
    assert late({"note": "2 own"}) == "ok"
    another.call("todo", {"note": "3 of another"})
    assert late({"note": "2 again"}).startswith("ok\nChanged by others meanwhile")
    seen = session.seen_head
    session.undo()
    assert late({"note": "4 own"}).startswith("ok\nChanged by others meanwhile")
    for number in range(MAX_OWN_EVENTS):
        session.call("todo", {"note": f"4 {number}"})
    assert late({"note": "4 more"}).startswith("ok\nChanged by others meanwhile")


def conversation(name: str, store: MemoryStore, dialect: Dialect = BRIEF) -> Session:
    """The session of an agent that is held to what is its own, by the name of its conversation."""
    ids, author = itertools.count(), Author("Ada", f"claude:{name}")
    parts = SessionParts(own=lambda: frozenset({author.agent}))
    return Session(
        *(store, "s", dialect),
        now=lambda: 0,
        new_id=lambda: f"{name}{next(ids)}",
        author=lambda actor: Author("Ada") if actor is Actor.USER else author,
        parts=parts,
    )


def held(session: Session) -> list[int]:
    return [task.number for _, task in open_tasks(session.held_state.plan)]


def test_an_agent_is_held_to_its_own_tasks_and_to_those_of_people() -> None:
    """What another conversation left is neither started after its tasks nor told as the next one, until it starts it.

    A task in progress that it starts is taken up by an event of its own. A person who changes one makes it everybody's.
    """
    store = MemoryStore()
    first, second = conversation("a", store), conversation("b", store)
    first.call("todo", {"add": ["migrate", "delete", "tell"], "start": 1})
    second.set_seen_head(second.state.head)

    assert (held(first), held(second)) == ([1, 2, 3], [])
    assert [task.number for task in second.left.tasks] == [1, 2, 3]
    assert second.turn_ended().decision == Rest(RestReason.NO_PLAN)
    assert second.context() is None
    second.change([Append((Task("theirs"),))])
    second.call("todo", {"add": ["own"], "start": 5})
    assert held(second) == [4, 5]
    second.set_seen_head(second.state.head)
    assert second.call("todo", {"done": 5}).text == "ok\nstarted 4 theirs"
    second.call("todo", {"done": 4})
    assert second.turn_ended().decision == Rest(RestReason.ALL_DONE)

    second.call("todo", {"start": 1})
    events = len(facts(second))
    second.call("todo", {"start": 1})
    assert (held(first), held(second), len(facts(second))) == ([2, 3], [1], events)
    second.call("todo", {"done": 1})
    assert held(second) == []
    second.change([Rename(Numbered((2,)), "delete most of it")])
    assert (held(first), held(second)) == ([2, 3], [2])


def test_a_process_id_is_of_no_conversation() -> None:
    plan = flat(
        *(
            Task(owner, number=number, owner=owner)
            for number, owner in enumerate(("pid:7", "x:pid:7", "y:pid:7", "x:1"), 1)
        )
    )

    assert left_over(plan, frozenset({"x:2"})) == {3, 4}
    assert left_over(plan, None) == frozenset()


def test_the_check_of_a_plan_holds_those_who_worked_on_it() -> None:
    store = MemoryStore()
    first, second = conversation("a", store), conversation("b", store)
    first.call("todo", {"add": ["migrate"]})
    first.change([SetCheck(None, Check(("make",)))])
    first.call("todo", {"done": 1})

    assert isinstance(first.turn_ended().decision, GoOn)
    assert second.turn_ended().decision == Rest(RestReason.NO_PLAN)


def test_where_tasks_are_named_by_position_what_others_left_counts_as_closed() -> None:
    store = MemoryStore()
    conversation("a", store, INDEXED).call("write_todos", ADD_TWO)
    second = conversation("b", store, INDEXED)
    second.call("write_todos", {"mode": "append", "todos": [{"text": "own"}]})

    assert second.turn_ended().decision == GoOn(2, second.plan.tasks[2])
    second.call("edit_todos", {"action": "complete", "indices": [2]})
    assert second.turn_ended().decision == Rest(RestReason.ALL_DONE)


def test_a_whole_list_keeps_what_others_left_and_takes_up_what_it_names() -> None:
    """Also if the list says nothing new, and whether or not the model has seen the plan."""
    store = MemoryStore()
    first, second = conversation("a", store, DECLARED), conversation("b", store, DECLARED)
    tasks = [{"content": "migrate", "status": "in_progress"}, {"content": "delete", "status": "pending"}]
    first.call("TodoWrite", {"summary": "s", "todos": tasks})

    second.call("TodoWrite", {"summary": "s", "todos": [{"content": "own", "status": "in_progress"}]})
    assert [task.text for task in second.plan.tasks] == ["own", "migrate", "delete"]
    assert [task.text for _, task in open_tasks(second.held_state.plan)] == ["own"]
    second.call("TodoWrite", {"summary": "s", "todos": [{"content": "migrate", "status": "in_progress"}]})
    assert [task.text for _, task in open_tasks(second.held_state.plan)] == ["migrate"]
    third = conversation("c", store, DECLARED)
    third.call("TodoWrite", {"summary": "s", "todos": tasks})
    assert held(second) == []
    assert [task.text for _, task in open_tasks(third.held_state.plan)] == ["migrate", "delete"]


def in_order(dialect: Dialect, *phases: Phase) -> Session:
    """The session of an agent in a fleet, with a plan of a person."""
    session = session_on(dialect=dialect).using(parts=SessionParts(in_order=True))
    session.change([Write(phases)])
    return session


def test_nothing_is_begun_behind_a_blocked_task_of_its_phase_where_the_order_is_kept() -> None:
    """The agent is not told to go on with it either. A person may do anything."""
    one = (Task("ask", BLOCKED), Task("deploy"))
    session = in_order(BRIEF, Phase("One", one), Phase("Two", (Task("other"),)))

    reply = session.call("todo", {"do": "start 2"})
    together = session.call("todo", {"do": "done 2\ndone 3"})

    behind = "#2 “deploy” comes after #1 “ask”, which is blocked: it waits, too"
    assert (reply.is_error, behind in reply.text, behind in together.text) == (True, True, True)
    assert [task.status.value for task in session.plan.tasks] == ["blocked", "pending", "pending"]
    assert held(session) == [1, 3]
    session.call("todo", {"do": "done 3"})
    assert session.turn_ended().decision == Rest(RestReason.BLOCKED)
    session.change([Mark(Numbered((2,)), COMPLETED)])
    assert [task.status.value for task in session.plan.tasks] == ["blocked", "completed", "completed"]


def test_the_rest_of_a_change_is_done_where_changes_may_be_done_in_part() -> None:
    session = in_order(PHASED, Phase("One", (Task("ask"), Task("deploy"))), Phase("Two", (Task("other"),)))
    session.change([Mark(Numbered((1,)), BLOCKED)], Actor.AGENT)

    outcome = session.change([Mark(Numbered((2, 3)), COMPLETED)], Actor.AGENT)

    assert len(outcome.faults) == 1
    assert [task.status.value for task in session.plan.tasks] == ["blocked", "pending", "completed"]


def test_whoever_has_done_a_task_goes_on_when_those_who_keep_its_files_have_seen_it() -> None:
    seen: list[str] = []
    session = session_on().using(parts=SessionParts(completed=seen.append))
    session.call("write_todos", ADD_TWO)
    session.call("edit_todos", {"action": "start", "indices": [0]})
    assert seen == []

    session.call("edit_todos", {"action": "complete", "indices": [0]})
    session.call("edit_todos", {"action": "complete", "indices": [0]})

    assert seen == [session.last_state.head]
