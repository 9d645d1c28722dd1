"""A summary from the text of events agrees with decoding them."""

from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tildone.plan.codec import encode
from tildone.plan.events import (
    Actor,
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
    Tripped,
)
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.stores import summary
from tildone.stores.summary import MAX_EVENTS, SessionSummary, summarize

IMITATIONS = st.sampled_from(['"status":"pending"', '"fact":"plan_changed"', '"course":"stop"', "\\", '"'])


def text(fact: Fact) -> str:
    return encode(Event("e", None, 1, Actor.AGENT, fact))


def test_every_marker_is_written_by_the_codec_for_its_fact_and_no_other() -> None:
    facts: dict[str, Fact] = {
        summary.PLAN_CHANGED: PlanChanged(Plan()),
        summary.DIRECTIVE_SET: DirectiveSet(Directive.GO),
        summary.TRIPPED: Tripped(Bound.NUDGES, 20),
        "": Nudged(1, 1),
    }

    for marker, fact in facts.items():
        assert [other for other in facts if other and other in text(fact)] == ([marker] if marker else [])


def test_every_open_status_has_a_marker_and_no_other_status_has() -> None:
    """A new open status needs a marker; otherwise hooks would treat its tasks as closed."""
    markers = (summary.PENDING, summary.IN_PROGRESS, summary.BLOCKED)

    for status in Status:
        event = text(PlanChanged(Plan((Phase("", (Task("One", status),)),))))
        assert any(marker in event for marker in markers) is status.is_open


def test_the_directives_have_the_values_of_the_enum() -> None:
    assert (Directive.GO.value, Directive.STOP.value) == (summary.GO, summary.STOP)


@given(st.lists(st.builds(Task, IMITATIONS | plans.texts, plans.statuses), max_size=4), st.sampled_from(Directive))
def test_texts_that_imitate_markers_do_not_affect_the_summary(tasks: list[Task], directive: Directive) -> None:
    call = Call("x", '{"status":"pending","course":"stop"}')
    changed = PlanChanged(Plan((Phase('"status":"pending"', tuple(tasks)),)), call, directive=directive)

    found = summarize("head", [text(Labelled("e", '"fact":"tripped"')), text(changed)])

    workable = any(task.status.is_open and task.status is not Status.BLOCKED for task in tasks)
    blocked = any(task.status is Status.BLOCKED for task in tasks)
    assert found == SessionSummary("head", workable, blocked, directive.value)


def test_the_newest_directive_counts_and_a_person_who_spoke() -> None:
    changed, tripped = text(PlanChanged(Plan())), text(Tripped(Bound.NUDGES, 20))
    stopped = text(DirectiveSet(Directive.STOP))

    nudged, later = text(Nudged(1, 1)), text(PlanChanged(Plan(), ledger=Ledger(continued=2, began=1)))

    for newest in ([tripped], [nudged], [later]):
        assert summarize("h", [*newest, changed]) == SessionSummary("h", continued=True)
    assert summarize("h", [stopped, tripped, changed]) == SessionSummary("h", directive="stop")
    assert summarize("h", [stopped]) == SessionSummary("h", directive="stop")


def test_the_search_for_the_plan_stops_after_max_events() -> None:
    labels = [text(Labelled("e", "name"))] * MAX_EVENTS

    assert summarize("h", labels) == SessionSummary("h")
    assert summarize("h", [*labels, text(PlanChanged(Plan()))]) is None
