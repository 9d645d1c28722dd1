"""Changes that do not come from a model: under other rules, or computed from the current plan."""

from tests.plans import IN_PROGRESS, session_on
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.events import Actor
from tildone.plan.model import Phase, Plan, Rules, Task, numbered
from tildone.plan.ops import Append, Write
from tildone.plan.reduce import Step
from tildone.stores.memory import MemoryStore


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
