"""Plans in Markdown documents, imported under the rules of the phased dialect."""

from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tildone.commands.verbs import FIRST_PHASE
from tildone.core.numbers import without_numbers
from tildone.core.ops import Write
from tildone.core.plan import Phase, Plan, Task
from tildone.core.reduce import reduce
from tildone.dialects.phased import DIALECT as PHASED
from tildone.formats.markdown.reader import ParsedChecklist, read
from tildone.formats.markdown.writer import portable_checklist
from tildone.value import replace


def from_markdown(text: str) -> ParsedChecklist:
    """Import a document as `/todo import` does."""
    reading = read(text, FIRST_PHASE)
    return replace(reading, plan=without_numbers(reduce(Plan(), [Write(reading.plan.phases)], PHASED.rules).after))


def test_tasks_before_the_first_heading_get_a_named_phase() -> None:
    """Ops cannot address a phase without a name."""
    reading = from_markdown("- [x] wire\n\n# Docs\n- [ ] write\n")

    assert reading.plan == Plan(
        (Phase("Todos", (Task("wire", COMPLETED),)), Phase("Docs", (Task("write", IN_PROGRESS),)))
    )
    assert reading.problems == ()


def test_only_the_first_task_in_progress_remains_so() -> None:
    plan = from_markdown("# A\n- [ ] one\n- [/] two\n- [/] three\n").plan

    assert [task.status for task in plan.tasks] == [PENDING, IN_PROGRESS, PENDING]


def test_invalid_lines_are_reported_and_the_others_imported() -> None:
    reading = from_markdown("# A\n???\n- [ ] one\n")

    assert reading.plan == Plan((Phase("A", (Task("one", IN_PROGRESS),)),))
    assert [problem.line for problem in reading.problems] == [2]


def test_an_exported_plan_can_be_imported() -> None:
    plan = Plan((Phase("A", (Task("one", COMPLETED, ("n\nm", "k")), Task("two", IN_PROGRESS))), Phase("B")))

    assert from_markdown(portable_checklist(plan)).plan == plan
