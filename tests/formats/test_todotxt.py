"""todo.txt in and out: the format's own rules, and a plan that comes back whatever its texts hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.formats.conversion import ConversionWarning
from tildone.formats.todotxt import read, write

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


def remembered(plan: Plan) -> Plan:
    """What a todo.txt can hold of a plan: a phase is its tasks, and those of one name are one."""
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
def test_a_line_is_read_by_the_rules_of_the_format(line: str, phase: str, task: Task) -> None:
    """A mark, a priority, dates, then words; +project is the phase, and leaves the text where it stood behind it."""
    assert read(f"{line}\n").plan == Plan((Phase(phase, (task,)),))


def test_tasks_are_gathered_by_project_in_order_of_appearance() -> None:
    """Blank lines, Windows line ends and spaces around mean nothing."""
    text = "one +B\r\n\r\n  two\r\nthree +A\r\nx four +B\r\n"

    assert read(text).plan == Plan(
        (
            Phase("B", (Task("one"), Task("four", COMPLETED))),
            Phase("", (Task("two"),)),
            Phase("A", (Task("three"),)),
        )
    )


def test_what_a_plan_has_no_place_for_is_kept_and_said() -> None:
    """Line by line, those of a kind in one sentence."""
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
def test_a_mark_made_by_another_program_counts_more_than_a_field(line: str, status: Status) -> None:
    """Whoever ticks a task off, or takes the tick away, need not know our fields."""
    assert [task.status for task in read(line).plan.tasks] == [status]


def test_a_field_of_another_program_is_not_taken_for_ours() -> None:
    """A status that is none of a plan's, and what cannot have been encoded, stay in the text."""
    assert read("wait status:someday note:%ff\n").plan == plan_of("wait status:someday note:%ff")
    assert read("go phase:alpha\n").plan == Plan((Phase("alpha", (Task("go"),)),))


def test_a_plan_is_written_as_others_write_theirs() -> None:
    """Dates and priorities that came from a todo.txt go back to where they stood."""
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


def test_what_todo_txt_has_no_place_for_is_said_of_phases() -> None:
    """A name of several words, a phase without a task, two of one name."""
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
    """It is shown harmlessly, and its field holds it exactly."""
    plan = flat(Task(text))

    assert write(plan).text == f"{line}\n"
    assert read(write(plan).text).plan == plan


def test_a_changed_text_is_said() -> None:
    """Because others show the field."""
    assert write(plan_of("a\nb")).warnings == (
        ConversionWarning(
            "a text that would be parsed differently is changed; the exact text is written as text:…, "
            "which other programs show as it is",
            (1,),
        ),
    )


@pytest.mark.parametrize(
    ("line", "plan", "said"),
    [
        ("changed text:a%0Ab", plan_of("changed"), "text: no longer matches its line; the line is used"),
        (
            "a +Other phase:Two%20words",
            Plan((Phase("Other", (Task("a"),)),)),
            "phase: no longer matches its +project; the +project is used",
        ),
    ],
)
def test_where_a_person_has_edited_a_line_the_edit_counts(line: str, plan: Plan, said: str) -> None:
    """An exact field is believed only beside what was written with it, and what is not believed is said."""
    taken = read(line)

    assert taken.plan == plan
    assert taken.warnings == (ConversionWarning(said, (1,)),)


@pytest.mark.parametrize("family", FORGERIES)
def test_every_plan_comes_back(family: str) -> None:
    """One line a task, in characters that any file can hold, also with Windows line ends."""
    for plan in plans(FORGERIES[family], family, PLANS_EACH):
        text = write(plan).text

        assert text.encode().decode() == text
        assert text.count("\n") == len(plan.tasks)
        assert read(text).plan == remembered(plan) == read(text.replace("\n", "\r\n")).plan


@given(any_plans)
def test_any_plan_comes_back(plan: Plan) -> None:
    """Whatever its texts, notes and names hold."""
    assert read(write(plan).text).plan == remembered(plan)


@given(st.text(st.characters(codec=None)) | st.lists(st.sampled_from([*PIECES, " "]), max_size=20).map("".join))
def test_any_text_is_read_and_every_line_of_it_is_a_task(text: str) -> None:
    """There is no text that is not a todo.txt."""
    found = read(text).plan.tasks

    assert len(found) <= len(text.split("\n"))
    assert all(task.text for task in found if "text:%" not in text)
