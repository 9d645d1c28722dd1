"""todo.txt and the lists of Claude Code: their rules and warnings, and how the format of a file is detected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, unnumbered_plan_of
from tildone.plan import codec
from tildone.plan.events import SessionHead
from tildone.plan.formats import ConversionWarning, WarningCollector, archive
from tildone.plan.formats.archive import Archive
from tildone.plan.formats.claude_tasks import is_task_file, is_todo_list, read_task_files, read_todo_list
from tildone.plan.formats.detection import (
    CLAUDE,
    JSON,
    MARKDOWN,
    PI,
    TODO_TXT,
    HistoryFile,
    PlanFile,
    detect_format,
    format_of_name,
    json_error,
    parse_file,
    reason,
)
from tildone.plan.formats.todotxt import read, write
from tildone.plan.model import Phase, Plan, Status, Task, flat

PLANS_EACH = 100

PIECES = [
    *("x ", "(A)", "(A) ", "2011-03-02", " ", "+p", "+", "@c", "a", "status:in_progress", "status:odd", "text:a"),
    *("note:%41", "note://b", "phase:p", "due:1", "https://example.com", "·", "＋p", "%", "\n"),
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
        (Phase("B", (Task("one"), Task("four", COMPLETED))), Phase("", (Task("two"),)), Phase("A", (Task("three"),)))
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
    """Dates and priorities are written back to their places; fields and changed texts cause warnings."""
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
    assert write(unnumbered_plan_of("a\nb")).warnings == (
        ConversionWarning(
            "a text that would be parsed differently is changed; the exact text is written as text:…, "
            "which other programs show as it is",
            (1,),
        ),
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


Fields = dict[str, object]

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
fields = st.dictionaries(
    st.sampled_from(["id", "status", "description", "owner", "metadata", "blocks", "blockedBy", "priority", "other"]),
    json | st.sampled_from(["1", "2", "pending", "deleted", ["1", "2"], [2]]),
)


def task(number: int | str, subject: str, **more: object) -> Fields:
    """Return the content of a task file."""
    base: Fields = {"id": str(number), "subject": subject, "description": "", "status": "pending"}
    return base | {"blocks": [], "blockedBy": []} | more


def test_each_file_is_a_task_unless_it_is_deleted() -> None:
    """Its description becomes a note, unless it equals the subject."""
    imported = read_task_files(
        [
            task(1, "Parse", description="The grammar is in docs/.", status="completed"),
            task(2, "Wire up", status="in_progress", description="Wire up"),
            task(3, "Tell"),
        ]
    )

    assert imported.plan == flat(
        Task("Parse", COMPLETED, ("The grammar is in docs/.",)), Task("Wire up", IN_PROGRESS), Task("Tell")
    )
    assert imported.warnings == ()

    imported = read_task_files([task(1, "a", status="deleted"), task(2, "b")])

    assert (imported.plan, [str(warning) for warning in imported.warnings]) == (
        unnumbered_plan_of("b"),
        ["task 1: it is marked as deleted and is not imported"],
    )

    imported = read_task_files(
        [task(7, "a", activeForm="Doing a", owner="ada", metadata={"pr": 12, "area": "api"}, extra=1)]
    )

    assert imported.plan == flat(Task("a", notes=("owner: ada", "pr: 12\narea: api")))
    assert imported.warnings == (
        ConversionWarning("the field activeForm is not imported", (7,), "task"),
        ConversionWarning("the field extra is not imported", (7,), "task"),
        ConversionWarning("its owner is kept as a note", (7,), "task"),
        ConversionWarning("its metadata is kept as a note", (7,), "task"),
    )


def test_tasks_are_sorted_by_number_and_after_their_blockers() -> None:
    """Whichever of the two names the other; missing blockers are ignored, and those that block each other come last."""
    assert read_task_files([task(10, "ten"), task(9, "nine"), task("first", "third file")]).plan == unnumbered_plan_of(
        "third file", "nine", "ten"
    )

    imported = read_task_files(
        [
            task(1, "ship", blockedBy=["3", "99"]),
            task(2, "sleep"),
            task(3, "test"),
            task(4, "build", blocks=[3, "98"], blockedBy=["2"]),
            task(5, "tell", blockedBy=["1", "2"]),
        ]
    )

    assert imported.plan == unnumbered_plan_of("sleep", "build", "test", "ship", "tell")
    assert imported.warnings == (
        ConversionWarning("it is placed after its blockers; the dependency is not imported", (1, 3, 4, 5), "task"),
    )
    assert read_task_files([task(1, "a"), task(2, "b", blockedBy=["1"]), task(3, "c")]).plan == unnumbered_plan_of(
        "a", "b", "c"
    )

    imported = read_task_files([task(1, "a", blockedBy=["2"]), task(2, "b", blockedBy=["1"]), task(3, "c")])

    assert imported.plan == unnumbered_plan_of("c", "a", "b")
    assert imported.warnings[-1] == ConversionWarning("they block each other, so they come last", (1, 2), "task")


def test_the_older_form_is_a_list() -> None:
    """Priorities become notes."""
    data = [
        {"content": "a", "status": "completed", "activeForm": "Doing a", "id": "1", "priority": "high"},
        {"content": "b", "status": "cancelled", "activeForm": "Doing b"},
    ]

    imported = read_todo_list(data)

    assert imported.plan == flat(Task("a", COMPLETED, ("priority: high",)), Task("b", ABANDONED))
    assert [str(warning) for warning in imported.warnings] == [
        "tasks 1 and 2: the field activeForm is not imported",
        "task 1: its priority is kept as a note",
    ]
    assert read_todo_list([]).plan == Plan()


@pytest.mark.parametrize(("status", "shown"), [("later", "later"), (7, "7"), (None, "null"), ("a\nb", "a⏎b")])
def test_a_task_with_an_unknown_status_is_pending(status: object, shown: str) -> None:
    """The warning shows the status, sanitized."""
    imported = read_todo_list([{"content": "a", "status": status}])

    assert imported.plan == unnumbered_plan_of("a")
    assert imported.warnings[0].message == f"unknown status “{shown}”; it is imported as pending"


@pytest.mark.parametrize("data", [None, [], {}, {"subject": 1}, {"content": "a"}, "subject"])
def test_other_data_is_not_a_task_file(data: object) -> None:
    assert not is_task_file(data)
    with pytest.raises(ValueError, match="it has no subject"):
        read_task_files([data])


@pytest.mark.parametrize("data", [None, {}, [1], [{"content": 1}], [{"subject": "a"}], "content"])
def test_other_data_is_not_a_todo_list(data: object) -> None:
    assert not is_todo_list(data)
    with pytest.raises(ValueError, match="not a list of todos"):
        read_todo_list(data)


@given(st.lists(st.builds(lambda text, more: {"subject": text} | more, st.text(), fields), max_size=6))
def test_every_task_is_imported_whatever_its_fields_contain(files: list[Fields]) -> None:
    """Except deleted ones; each once."""
    imported = read_task_files(files)

    kept = [each["subject"] for each in files if each.get("status") != "deleted"]
    assert sorted(each.text for each in imported.plan.tasks) == sorted(map(str, kept))
    assert codec.dump([warning.text() for warning in imported.warnings])


@pytest.mark.parametrize(
    ("numbers", "short", "full"),
    [
        ((), "x", "x"),
        ((7,), "line 7: x", "line 7: x"),
        ((1, 2), "lines 1 and 2: x", "lines 1 and 2: x"),
        ((1, 2, 5), "lines 1, 2 and 5: x", "lines 1, 2 and 5: x"),
        ((1, 2, 5, 9, 11), "lines 1, 2, 5 and 2 more: x", "lines 1, 2, 5, 9 and 11: x"),
    ],
)
def test_a_warning_lists_its_lines(numbers: tuple[int, ...], short: str, full: str) -> None:
    """The short form lists only the first few."""
    assert (str(ConversionWarning("x", numbers)), ConversionWarning("x", numbers).text()) == (short, full)


def test_equal_warnings_become_one() -> None:
    """In the order of their first occurrence; each line is listed once."""
    warnings = WarningCollector("task")
    for number in (3, 3, 4):
        warnings.add("a", number)
    warnings.add("b")
    warnings.add("a", 9)

    assert warnings.all() == (ConversionWarning("a", (3, 4, 9), "task"), ConversionWarning("b", (), "task"))


TASK = '{"id": "1", "subject": "a", "status": "pending"}'
TODOS = '[{"content": "a", "status": "pending", "activeForm": "a"}]'
EMPTY_ARCHIVE = archive.write(Archive("s", SessionHead(None), ()))


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("a.md", MARKDOWN),
        ("A.MarkDown", MARKDOWN),
        ("dir.d/a.txt", TODO_TXT),
        ("C:\\dir\\a.json", JSON),
        ("a.b.jsonl", PI),
        ("a", None),
        ("dir.md/a", None),
        (".md", None),
        ("-", None),
    ],
)
def test_the_suffix_of_a_name_stands_for_a_format(path: str, format_: str | None) -> None:
    assert format_of_name(path) == format_


@pytest.mark.parametrize(
    ("path", "text", "format_"),
    [
        ("a.txt", '{"type": "session", "version": 3}\n{"type": "message"}', PI),
        ("a.md", TASK, CLAUDE),
        ("-", TODOS, CLAUDE),
        ("a.txt", EMPTY_ARCHIVE, JSON),
        ("a.jsonl", "{broken", PI),
        ("a.json", "{broken", None),
        ("a.json", "[1, 2]", None),
        ("a.md", "[1] a footnote", MARKDOWN),
        ("a.txt", "- [ ] a", MARKDOWN),
        ("a.txt", "Call mum", TODO_TXT),
        ("-", "(A) Call mum", TODO_TXT),
        ("-", "x 2026-01-01 Call mum", TODO_TXT),
        ("-", "  \n", MARKDOWN),
        ("-", "Once upon a time", None),
    ],
)
def test_the_content_decides_before_the_name(path: str, text: str, format_: str | None) -> None:
    assert detect_format(path, text) == format_


@pytest.mark.parametrize(("format_", "text"), [(CLAUDE, TASK), (CLAUDE, TODOS), (TODO_TXT, "a"), (MARKDOWN, "- [ ] a")])
def test_a_file_with_a_plan_is_parsed(format_: str, text: str) -> None:
    file = parse_file("name", format_, text)

    assert isinstance(file, PlanFile)
    assert (file.path, file.format, [task.text for task in file.plan.tasks]) == ("name", format_, ["a"])


def test_an_archive_is_a_file_with_a_history_and_other_text_is_refused_with_a_reason() -> None:
    file = parse_file("name", JSON, EMPTY_ARCHIVE)

    assert isinstance(file, HistoryFile)
    assert (file.session, file.events, file.plan.tasks, file.warnings) == ("s", (), (), ())

    with pytest.raises(ValueError, match="session"):
        parse_file("name", JSON, "[]")

    assert json_error("{}") is None
    assert json_error("{") == str(reason(ValueError(json_error("{"))))
    assert reason(RecursionError()) == "it is nested too deeply"
