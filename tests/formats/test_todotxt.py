"""Reading and writing of todo.txt: the rules of the format, and round trips of any plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, unnumbered_plan_of
from tildone.plan.formats import ConversionWarning
from tildone.plan.formats.todotxt import read, write
from tildone.plan.model import Phase, Plan, Status, Task, flat

PLANS_EACH = 100

PIECES = [
    "x ",
    "(A)",
    "(A) ",
    "2011-03-02",
    " ",
    "+p",
    "+",
    "@c",
    "a",
    "status:in_progress",
    "status:odd",
    "text:a",
    "note:%41",
    "note://b",
    "phase:p",
    "due:1",
    "https://example.com",
    "·",
    "＋p",
    "%",
    "\n",
]
FORGERIES = FAMILIES | {"todo.txt": PIECES, "todo.txt and all of it": PIECES + FAMILIES["all of it"]}
any_text = st.text(st.characters(codec=None), max_size=12) | st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
date_notes = st.sampled_from(["created: 2011-03-02", "completed: 2011-03-03", "created: x"])
any_tasks = st.builds(Task, any_text, st.sampled_from(Status), st.lists(any_text | date_notes, max_size=3).map(tuple))
any_plans = st.builds(
    Plan, st.lists(st.builds(Phase, any_text, st.lists(any_tasks, max_size=3).map(tuple)), max_size=3).map(tuple)
)


def normalized(plan: Plan) -> Plan:
    """Return the plan as todo.txt represents it: without empty phases, and with phases of one name merged."""
    phases: dict[str, tuple[Task, ...]] = {}
    for phase in plan.phases:
        if phase.tasks:
            phases[phase.name] = phases.get(phase.name, ()) + phase.tasks
    return Plan(tuple(Phase(name, tasks) for name, tasks in phases.items()))


@pytest.mark.parametrize(
    ("line", "phase", "task"),
    [
        ("(A) Thank Mom for the meatballs @phone", "", Task("(A) Thank Mom for the meatballs @phone")),
        ("Schedule Goodwill pickup +GarageSale @phone", "GarageSale", Task("Schedule Goodwill pickup @phone")),
        ("Document +TodoTxt task format", "TodoTxt", Task("Document +TodoTxt task format")),
        ("Really gotta call Mom (A) @phone @someday", "", Task("Really gotta call Mom (A) @phone @someday")),
        ("(b) Get back to the boss", "", Task("(b) Get back to the boss")),
        ("(B)->Submit TPS report", "", Task("(B)->Submit TPS report")),
        ("2011-03-02 Document it", "", Task("Document it", notes=("created: 2011-03-02",))),
        ("(A) 2011-03-02 Call Mom", "", Task("(A) Call Mom", notes=("created: 2011-03-02",))),
        ("(A) Call Mom 2011-03-02", "", Task("(A) Call Mom 2011-03-02")),
        ("Learn how to add 2+2", "", Task("Learn how to add 2+2")),
        ("Email SoAndSo at soandso@example.com", "", Task("Email SoAndSo at soandso@example.com")),
        ("x 2011-03-03 Call Mom", "", Task("Call Mom", COMPLETED, ("completed: 2011-03-03",))),
        (
            "x 2011-03-02 2011-03-01 Review it +TodoTxtTouch @github",
            "TodoTxtTouch",
            Task("Review it @github", COMPLETED, ("completed: 2011-03-02", "created: 2011-03-01")),
        ),
        ("x (A) 2011-03-02 Done", "", Task("(A) Done", COMPLETED, ("completed: 2011-03-02",))),
        ("xylophone lesson", "", Task("xylophone lesson")),
        ("X 2012-01-01 Make resolutions", "", Task("X 2012-01-01 Make resolutions")),
        ("(A) x Find ticket prices", "", Task("(A) x Find ticket prices")),
        ("x", "", Task("x")),
        ("+alone", "alone", Task("+alone")),
        ("See https://example.com/a", "", Task("See https://example.com/a")),
    ],
)
def test_a_line_is_parsed_by_the_rules_of_the_format(line: str, phase: str, task: Task) -> None:
    """A mark, a priority, dates, then words; a +project after the text is the phase and is removed from the text."""
    assert read(f"{line}\n").plan == Plan((Phase(phase, (task,)),))


def test_tasks_are_grouped_by_project_in_order_of_appearance() -> None:
    """Blank lines, CRLF line ends and surrounding spaces are ignored."""
    text = "one +B\r\n\r\n  two\r\nthree +A\r\nx four +B\r\n"

    assert read(text).plan == Plan(
        (
            Phase("B", (Task("one"), Task("four", COMPLETED))),
            Phase("", (Task("two"),)),
            Phase("A", (Task("three"),)),
        )
    )


def test_unsupported_elements_are_kept_in_the_text_with_a_warning() -> None:
    """Equal warnings are one."""
    text = "(A) call @home\nx 2026-01-02 pay due:2026-02-01 +a +b\n(B) 2026-01-01 go rec:1w due:x\n"

    assert read(text).warnings == (
        ConversionWarning("a priority is kept in the text", (1, 3)),
        ConversionWarning("a context (@) is kept in the text", (1,)),
        ConversionWarning("a date is kept as a note", (2, 3)),
        ConversionWarning("a task has one phase; further +projects are kept in the text", (2,)),
        ConversionWarning("the field due: is kept in the text", (2, 3)),
        ConversionWarning("the field rec: is kept in the text", (3,)),
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("a status:in_progress", IN_PROGRESS),
        ("x a status:abandoned", ABANDONED),
        ("x 2026-01-02 a status:in_progress", COMPLETED),
        ("a status:abandoned", PENDING),
        ("a status:completed", PENDING),
    ],
)
def test_the_mark_takes_precedence_over_the_status_field(line: str, status: Status) -> None:
    """Other programs set the mark without knowing our fields."""
    assert [task.status for task in read(line).plan.tasks] == [status]


def test_an_invalid_field_stays_in_the_text() -> None:
    """A status that does not exist, or a value that is not valid UTF-8."""
    assert read("wait status:someday note:%ff\n").plan == unnumbered_plan_of("wait status:someday note:%ff")
    assert read("go phase:alpha\n").plan == Plan((Phase("alpha", (Task("go"),)),))


def test_a_plan_is_written_by_the_rules_of_the_format() -> None:
    """Dates and priorities read from a todo.txt are written back to their places."""
    plan = Plan(
        (
            Phase("", (Task("(A) Call", notes=("created: 2026-01-01",)), Task("Rest", IN_PROGRESS))),
            Phase("Ship", (Task("Tell", COMPLETED, ("completed: 2026-01-02",)), Task("Wait", ABANDONED, ("no time",)))),
        )
    )

    written = write(plan)

    assert written.text == (
        "(A) 2026-01-01 Call\n"
        "Rest status:in_progress\n"
        "x 2026-01-02 Tell +Ship\n"
        "x Wait +Ship status:abandoned note:no%20time\n"
    )
    assert written.warnings == (
        ConversionWarning("in_progress is written as status:in_progress, which other programs show as it is", (2,)),
        ConversionWarning("abandoned is written as status:abandoned, which other programs show as it is", (4,)),
        ConversionWarning("a note is written as note:…, which other programs show as it is", (4,)),
    )


def test_phases_that_cannot_be_represented_cause_warnings() -> None:
    """A name of several words, a phase without tasks, two phases of one name."""
    plan = Plan((Phase("Two words", (Task("a"),)), Phase("Empty"), Phase(""), Phase("B", (Task("b"),)), Phase("B")))
    twice = Plan((Phase("A", (Task("a"),)), Phase("", (Task("b"),)), Phase("A", (Task("c"),))))

    assert write(plan).text == "a +Two_words phase:Two%20words\nb +B\n"
    assert [warning.message for warning in write(plan).warnings] == [
        "phase “Two words” is written as +Two_words, and exactly as phase:…",
        "phase “Empty” has no tasks and is left out",
        "a phase without a name has no tasks and is left out",
        "phase “B” has no tasks and is left out",
    ]
    assert [warning.message for warning in write(twice).warnings] == [
        "phase “A” occurs more than once; an import makes it one phase"
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x marks the spot", "· x marks the spot text:x%20marks%20the%20spot"),
        ("2026-01-01 is a date", "· 2026-01-01 is a date text:2026-01-01%20is%20a%20date"),
        ("learn +p", "learn ＋p text:learn%20+p"),
        ("a\nx b", "a⏎x b text:a%0Ax%20b"),
        ("- [ ] a", "- [ ] a"),
        ("do status:in_progress", "do status：in_progress text:do%20status%3Ain_progress"),
        ("", "· text:%"),
        (" padded ", "padded text:%20padded%20"),
        ("\x1b[2J", "␛[2J text:%1B[2J"),
        ("half \ud83d", "half <U+D83D> text:half%20%ED%A0%BD"),
    ],
)
def test_a_text_cannot_forge_a_line(text: str, line: str) -> None:
    """The line shows it sanitized, and a field contains it exactly."""
    plan = flat(Task(text))

    assert write(plan).text == f"{line}\n"
    assert read(write(plan).text).plan == plan


def test_a_changed_text_causes_a_warning() -> None:
    """Other programs show the field."""
    assert write(unnumbered_plan_of("a\nb")).warnings == (
        ConversionWarning(
            "a text that would be parsed differently is changed; the exact text is written as text:…, "
            "which other programs show as it is",
            (1,),
        ),
    )


@pytest.mark.parametrize(
    ("line", "plan", "warning"),
    [
        ("changed text:a%0Ab", unnumbered_plan_of("changed"), "text: no longer matches its line; the line is used"),
        (
            "a +Other phase:Two%20words",
            Plan((Phase("Other", (Task("a"),)),)),
            "phase: no longer matches its +project; the +project is used",
        ),
    ],
)
def test_an_edited_line_takes_precedence_over_its_fields(line: str, plan: Plan, warning: str) -> None:
    """A field is used only if it matches the visible value; otherwise there is a warning."""
    imported = read(line)

    assert imported.plan == plan
    assert imported.warnings == (ConversionWarning(warning, (1,)),)


def test_every_generated_plan_survives_a_round_trip() -> None:
    """One line per task, valid UTF-8, also with CRLF line ends."""
    for plan in (plan for name, family in FORGERIES.items() for plan in plans(family, name, PLANS_EACH)):
        text = write(plan).text

        assert text.encode().decode() == text
        assert text.count("\n") == len(plan.tasks)
        assert read(text).plan == normalized(plan) == read(text.replace("\n", "\r\n")).plan


@given(any_plans)
def test_any_plan_survives_a_round_trip(plan: Plan) -> None:
    """Whatever its texts, notes and names hold."""
    assert read(write(plan).text).plan == normalized(plan)


@given(st.text(st.characters(codec=None)) | st.lists(st.sampled_from([*PIECES, " "]), max_size=20).map("".join))
def test_every_line_of_any_text_is_a_task(text: str) -> None:
    found = read(text).plan.tasks

    assert len(found) <= len(text.split("\n"))
    assert all(task.text for task in found if "text:%" not in text)
