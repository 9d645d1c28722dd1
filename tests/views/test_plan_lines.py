"""Plans as lines for a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, plan_of, plans
from tildone.base import replace
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Task, flat
from tildone.plan.text.lists import MIN_COLUMNS, plan_lines, task_line, task_lines
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Span, ansi, display_width, markup, plain


def drawn(lines: list[tuple[Span, ...]]) -> str:
    return "\n".join(plain(line) for line in lines)


def test_a_plan_shows_phases_tasks_and_notes() -> None:
    """Phases have their progress beside their names; numbers continue from phase to phase."""
    plan = Plan(
        (
            Phase("Build\x1b", (Task("schema", COMPLETED), Task("migrate", IN_PROGRESS, ("see #12\nand #13", "slow")))),
            Phase("", (Task("rest"),)),
            Phase("Later"),
        )
    )

    assert drawn(plan_lines(plan)) == (
        "Build␛ 1/2\n"
        "  ✓ #1 schema\n"
        "  ● #2 migrate\n"
        "    │ see #12\n"
        "    │ and #13\n"
        "    │ \n"
        "    │ slow\n"
        "\n"
        "(unnamed) 0/1\n"
        "  – #3 rest\n"
        "\n"
        "Later 0/0"
    )
    assert markup(plan_lines(plan)[0]) == "<accent><bold>Build␛</bold></accent><muted> 1/2</muted>"


def test_a_flat_list_has_no_heading() -> None:
    """An empty plan says that it is empty."""
    assert drawn(plan_lines(plan_of("a", "b\nc"))) == "– #1 a\n– #2 b⏎c"
    assert drawn(plan_lines(Plan())) == "No todos"


def test_wrapped_lines_have_a_hanging_indent() -> None:
    """Names, texts and notes alike."""
    plan = Plan(
        (Phase("A phase of many words", (Task("a task of many words", COMPLETED, ("a note of many words",)),)),)
    )

    assert drawn(plan_lines(plan, 20)) == (
        "A phase of many\nwords 1/1\n  ✓ #1 a task of\n       many words\n    │ a note of many\n    │ words"
    )
    assert markup(plan_lines(plan, 20)[3]) == "       <dim><strikethrough>many words</strikethrough></dim>"


@given(plans, st.integers(0, 60))
def test_no_line_is_wider_than_the_terminal(plan: Plan, columns: int) -> None:
    """Down to a minimum width."""
    assert plan_lines(plan, columns) == plan_lines(plan, max(columns, MIN_COLUMNS))
    assert all(display_width(plain(line)) <= max(columns, MIN_COLUMNS) for line in plan_lines(plan, columns))


@given(plans)
def test_the_lines_of_a_plan_are_sanitized(plan: Plan) -> None:
    """Sanitizing them again changes nothing, so their widths are correct."""
    assert all(ansi(line, color=False, safe=printable) == plain(line) for line in plan_lines(plan))


def test_only_some_tasks_can_be_shown() -> None:
    """Phases without any are omitted; the others keep their progress."""
    plan = Plan((Phase("A", (Task("a", COMPLETED), Task("b"))), Phase("B", (Task("c"),))))

    assert drawn(plan_lines(plan, only={2})) == "A 1/2\n  – #2 b"
    assert drawn(plan_lines(plan, only=set())) == "No todos"


def test_positions_can_be_shown_beside_the_numbers() -> None:
    plan = Plan((Phase("A", (Task("a", number=3),)), Phase("B", (Task("b", number=2),))))

    assert drawn(plan_lines(plan, positions=True)) == "A 0/1\n  – #3 [0] a\n\nB 0/1\n  – #2 [1] b"
    assert drawn(plan_lines(plan, positions=True, only={2})) == "B 0/1\n  – #2 [1] b"


def test_one_task_has_its_number_and_its_notes() -> None:
    """A task of which no number is known has none."""
    task = Task("wait", BLOCKED, ("for the key",), 7)

    assert drawn(task_lines(task)) == "! #7 wait\n  │ for the key"
    assert drawn(task_lines(task, 10, 3)) == "! #7 [3] wait\n  │ for the key"
    assert plain(task_line(task)) == "! #7 wait"
    assert plain(task_line(Task("wait"))) == "– wait"


def test_a_long_number_leaves_no_room_and_breaks_nothing() -> None:
    assert all(line for line in plan_lines(Plan((Phase("", (Task("text", number=10**18),)),)), 20))


PYTEST = Check(("pytest", "-q", "tests dir"))
PASSED, FAILED = (
    Proof(result, PYTEST.command, exit_code=code) for result, code in ((Result.PASSED, 0), (Result.FAILED, 1))
)


def test_a_check_and_its_state_stand_below_the_task() -> None:
    plan = flat(
        Task("a", COMPLETED, ("note",), 1, check=PYTEST, proof=PASSED),
        Task("b", COMPLETED, number=2, check=PYTEST, proof=PASSED),
        Task("c", IN_PROGRESS, number=3, check=PYTEST, proof=FAILED),
        Task("d", number=4, check=PYTEST),
        Task("e", number=5, check=PYTEST),
    )

    lines = plan_lines(plan, stale={2}, proposed={5})

    assert drawn(lines) == (
        "✓ #1 a\n  $ pytest -q 'tests dir' · passed\n  │ note\n"
        "✓ #2 b\n  $ pytest -q 'tests dir' · done, stale\n"
        "● #3 c\n  $ pytest -q 'tests dir' · failed (exit 1)\n"
        "– #4 d\n  $ pytest -q 'tests dir'\n"
        "– #5 e\n  $ pytest -q 'tests dir' · proposed"
    )
    struck = [markup(line) for line in lines if "strikethrough" in markup(line)]
    assert struck == ["<success>✓</success> <accent>#1</accent> <dim><strikethrough>a</strikethrough></dim>"]
    assert [markup(line).endswith("</warning>") for line in lines if "$" in plain(line)] == [0, 1, 1, 0, 1]


def test_a_task_that_waits_says_for_which() -> None:
    plan = flat(Task("a", COMPLETED, number=1), Task("b", number=2), Task("c", number=3, after=(1, 2)))
    closed = flat(Task("b", number=2), Task("c", COMPLETED, number=3, after=(2,)))

    assert drawn(plan_lines(plan)) == "✓ #1 a\n– #2 b\n– #3 c\n  after 2"
    assert "after" not in drawn(plan_lines(closed))


def test_the_check_of_a_plan_stands_at_its_end() -> None:
    plan = replace(plan_of("a"), check=PYTEST, proof=PASSED)

    assert drawn(plan_lines(plan)) == "– #1 a\n\nPlan: $ pytest -q 'tests dir' · passed"
    assert drawn(plan_lines(plan, stale={PLAN})).endswith("$ pytest -q 'tests dir' · stale")
    assert drawn(plan_lines(plan, only={1})) == "– #1 a"


def test_a_long_command_is_wrapped_and_cannot_draw() -> None:
    task = Task("a", number=1, check=Check(("make", "all\x1b[2J", "tests", "and", "docs")))

    assert drawn(task_lines(task, 20)) == "– #1 a\n  $ make 'all␛[2J'\n    tests and docs"
    assert drawn(task_lines(replace(task, check=PYTEST), proposed={1})).endswith(" · proposed")
