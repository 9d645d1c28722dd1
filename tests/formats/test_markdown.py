"""Markdown: portable output, lossless round trips, attributes of tasks, and import of any other text with warnings."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import plans as any_plan
from tests.formats.hostile_plans import FAMILIES, LONG, plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of, unnumbered_plan_of
from tildone.base import replace
from tildone.plan.formats import ConversionWarning, todotxt
from tildone.plan.formats import markdown_reader as importer
from tildone.plan.formats.markdown import (
    Attributes,
    attribute_lines,
    lossless_checklist,
    portable_checklist,
    restore_attributes,
)
from tildone.plan.formats.markdown_reader import LineProblem, ParsedChecklist, has_checkbox, read, read_checklist
from tildone.plan.model import Check, Phase, Plan, Rules, Status, Task, flat, without_numbers
from tildone.plan.ops import Mark, Numbered, Order, Remove, SetCheck, Touch
from tildone.plan.reduce import Step, reduce
from tildone.plan.text.safe import safe_text

EXAMPLES = 5 * settings().max_examples
PLANS_EACH = 2 * EXAMPLES
"""For each family: more than ten thousand plans in all, and a tenth of them in `do.py test`."""

ORDINARY = Plan(
    (
        Phase(
            "Foundation",
            (
                Task("Write the schema", COMPLETED, ("see #12", "two\nlines")),
                Task("Migrate", IN_PROGRESS),
                Task("Tune it", ABANDONED),
            ),
        ),
        Phase("Release"),
        Phase("After", (Task("Rest"),)),
    )
)
ORDINARY_TEXT = """\
# Foundation
- [x] Write the schema
  > see #12
  >
  > two
  > lines
- [/] Migrate
- [-] Tune it

# Release

# After
- [ ] Rest
"""

words = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
sentences = st.lists(words, min_size=1, max_size=4).map(" ".join)
paragraphs = st.lists(sentences, min_size=1, max_size=3).map("\n".join)
ordinary_tasks = st.builds(Task, sentences, st.sampled_from(Status), st.lists(paragraphs, max_size=2).map(tuple))
ordinary_plans = st.builds(
    lambda phases: Plan(tuple(phases)),
    st.lists(st.builds(Phase, sentences, st.lists(ordinary_tasks, max_size=3).map(tuple)), min_size=1, max_size=3),
)
any_text = st.text(st.characters(categories=None))
any_plans = st.builds(
    Plan,
    st.lists(
        st.builds(
            Phase,
            any_text,
            st.lists(
                st.builds(Task, any_text, st.sampled_from(Status), st.lists(any_text, max_size=2).map(tuple)),
                max_size=2,
            ).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)
markdownish = st.lists(st.sampled_from([piece for family in FAMILIES.values() for piece in family]), max_size=20)


def test_a_portable_checklist_has_the_form_of_other_tools() -> None:
    """Also of an empty or unusual plan. No text can forge a line; lone surrogates are replaced."""
    assert portable_checklist(ORDINARY) == ORDINARY_TEXT
    assert portable_checklist(Plan()) == "# Todos\n"

    plan = Plan((Phase("", (Task("a", notes=("one\n\ntwo", "", "x\r\ny")),)),))

    assert portable_checklist(plan) == "# \n- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  >\n  > x\r\n  > y\n"

    plan = Plan((Phase("A\n# B", (Task("a\n- [x] b", notes=("n\r- [x] c\u2028d",)), Task("\ud83d"))),))

    text = portable_checklist(plan)

    assert text == "# A⏎# B\n- [ ] a⏎- [x] b\n  > n⏎- [x] c⏎d\n- [ ] \ufffd\n"
    assert text.encode()
    assert "$" not in portable_checklist(flat(Task("x", check=TESTS, after=(1,), touches=("a",))))


@given(ordinary_plans)
def test_the_lossless_and_the_portable_form_of_an_ordinary_plan_are_equal(plan: Plan) -> None:
    """Comments are only for values that would be lost; CRLF line ends change nothing."""
    assert lossless_checklist(plan) == portable_checklist(plan)
    assert (
        read_checklist(portable_checklist(plan).replace("\n", "\r\n"))
        == read_checklist(portable_checklist(plan))
        == ParsedChecklist(plan)
    )


def test_a_flat_list_has_no_heading_and_an_empty_plan_no_text() -> None:
    """Only the first phase can have no heading. Notes that would be lost share one comment."""
    assert lossless_checklist(unnumbered_plan_of("a", "b")) == "- [ ] a\n- [ ] b\n"
    assert lossless_checklist(Plan()) == ""
    assert (
        lossless_checklist(Plan((Phase(""), Phase("", (Task("a"),)))))
        == '# <!--tildone ""-->\n\n# <!--tildone ""-->\n- [ ] a\n'
    )

    plan = flat(Task("a", notes=("one\n\ntwo", " ")))

    assert lossless_checklist(plan) == (
        '- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  > <!--tildone ["one\\n\\ntwo"," "]-->\n'
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("line one\nline two", 'line one⏎line two <!--tildone "line one\\nline two"-->'),
        (" padded\xa0", 'padded <!--tildone " padded\\u00a0"-->'),
        ("", '<!--tildone ""-->'),
        ("half \ud83d", 'half <U+D83D> <!--tildone "half \\ud83d"-->'),
        ("\ud83d\ude00", '<U+D83D><U+DE00> <!--tildone ["\\ud83d","\\ude00"]-->'),
        ("a\n-->", 'a⏎--> <!--tildone "a\\n\\u002d\\u002d\\u003e"-->'),
        (
            'a <!--tildone "b"-->',
            'a ‹!--tildone "b"--> <!--tildone "a \\u003c!\\u002d\\u002dtildone \\"b\\"\\u002d\\u002d\\u003e"-->',
        ),
    ],
)
def test_a_text_that_would_be_lost_has_a_comment_with_its_exact_value(text: str, line: str) -> None:
    """The comment is ASCII, and its content cannot close it."""
    assert lossless_checklist(flat(Task(text))) == f"- [ ] {line}\n"
    assert lossless_checklist(Plan((Phase(text),))) == f"# {line}\n"


def test_every_generated_plan_survives_a_round_trip() -> None:
    """Without problems, also with CRLF line ends.

    If the portable form survives, the lossless form is equal to it, unless a text looks like one of our comments.
    """
    tried = 0
    for plan in (plan for name, family in FAMILIES.items() for plan in plans(family, name, PLANS_EACH)):
        text = lossless_checklist(plan)
        tried += 1

        assert read_checklist(text) == ParsedChecklist(plan)
        assert read_checklist(text.encode().decode().replace("\n", "\r\n")) == ParsedChecklist(plan)
        assert "\r" not in text
        assert (
            text == portable_checklist(plan)
            or read_checklist(portable_checklist(plan)) != ParsedChecklist(plan)
            or "<!--tildone" in text
        )

    assert tried == len(FAMILIES) * PLANS_EACH


@given(any_plans)
@settings(max_examples=EXAMPLES)
@example(flat(Task("a", notes=("<!--tildone []-->",))))
@example(flat(Task("a", notes=("",))))
def test_any_plan_survives_a_round_trip(plan: Plan) -> None:
    """With any characters."""
    assert read_checklist(lossless_checklist(plan)) == ParsedChecklist(plan)


@given(any_plans)
@example(flat(Task("a\u202eb", notes=("c\u200b", "</todo>"))))
def test_a_form_for_any_reader_survives_too_and_shows_nothing_that_is_not_safe(plan: Plan) -> None:
    text = lossless_checklist(plan, escaped=True)

    assert read_checklist(text) == ParsedChecklist(plan)
    assert [line for line in text.splitlines() if line != safe_text(line)] == []


def test_very_long_texts_survive_a_round_trip() -> None:
    for plan in plans(LONG, "long", 20):
        assert read_checklist(lossless_checklist(plan)) == ParsedChecklist(plan)


@pytest.mark.parametrize(
    ("edited", "task"),
    [
        ('- [x] one⏎two <!--tildone "one\\ntwo"-->', Task("one\ntwo", COMPLETED)),
        ('* [X]  one⏎two <!--tildone "one\\ntwo"-->  ', Task("one\ntwo", COMPLETED)),
        ('- [ ] one two <!--tildone "one\\ntwo"-->', Task("one two")),
        ('- [ ] one⏎two three <!--tildone "one\\ntwo"-->', Task("one⏎two three")),
        ('- [ ] one⏎two <!--tildone "one\\ntwo"--> three', Task('one⏎two <!--tildone "one\\ntwo"--> three')),
        ("- [ ] one⏎two <!--tildone broken-->", Task("one⏎two")),
        ("- [ ] one⏎two <!--tildone 7-->", Task("one⏎two")),
        ("- [ ] one⏎two <!--tildone [1]-->", Task("one⏎two")),
        ("- [ ] one <!-- of theirs -->", Task("one <!-- of theirs -->")),
    ],
)
def test_a_comment_is_used_only_if_it_matches_the_visible_text(edited: str, task: Task) -> None:
    """Checking a box keeps the exact text; an edited text is never lost."""
    assert read_checklist(edited) == ParsedChecklist(flat(task))


@pytest.mark.parametrize(
    ("edited", "notes"),
    [
        ('> a\n>\n> b\n> <!--tildone ["a\\n\\nb"]-->', ("a\n\nb",)),
        ('> a\n\n>\n   > b\n> <!--tildone ["a\\n\\nb"]-->', ("a\n\nb",)),
        ('> A\n>\n> b\n> <!--tildone ["a\\n\\nb"]-->', ("A", "b")),
        ('> a\n>\n> b\n> <!--tildone ["a\\n\\nb"]-->\n> c', ("a\n\nb", "c")),
        ('> <!--tildone ["a\\n\\nb"]-->', ()),
        ("> a\n> <!--tildone broken-->\n> b", ("a", "b")),
        ("> a\n> <!--tildone [7]-->", ("a",)),
        ('> a\n>\n> b\n> <!--tildone ["a\\n\\nb",7]-->', ("a", "b")),
        ("> a <!--tildone [7]-->", ("a <!--tildone [7]-->",)),
    ],
)
def test_a_notes_comment_is_used_only_if_it_matches_the_visible_notes(edited: str, notes: tuple[str, ...]) -> None:
    """It covers all notes above it; lines below it are new notes."""
    assert read_checklist(f"- [ ] t\n{edited}") == ParsedChecklist(flat(Task("t", notes=notes)))


def test_a_phase_can_be_renamed_in_an_editor_but_not_lose_its_visible_text() -> None:
    """Its comment no longer matches and is ignored."""
    named = Plan((Phase("a\nb"),))

    assert read_checklist(lossless_checklist(named)) == ParsedChecklist(named)
    assert read_checklist(lossless_checklist(named).replace("a⏎b", "c")) == ParsedChecklist(Plan((Phase("c"),)))

    parsed = read_checklist('# <!--tildone "a\\nb"-->\n- [ ] <!--tildone "a\\nb"-->\n')

    assert parsed.plan == Plan((Phase(""),))
    assert [problem.line for problem in parsed.problems] == [1, 2]


def test_variants_of_the_form_are_read_and_the_lines_around_a_problem() -> None:
    """A byte order mark, tabs, all bullets, capital marks, any heading level, tight brackets, blank lines."""
    text = (
        "\ufeff###### Six  \r\n\r\n\t* [X] done\r\n+[>]\tactive\n\n    >   a note \n-  []  open\n- [~] out\n>no space\n"
    )

    assert read_checklist(text) == ParsedChecklist(
        Plan(
            (
                Phase(
                    "Six",
                    (
                        Task("done", COMPLETED),
                        Task("active", IN_PROGRESS, ("  a note ",)),
                        Task("open", PENDING),
                        Task("out", ABANDONED, ("no space",)),
                    ),
                ),
            )
        )
    )
    assert read_checklist("- [ ] a\n# B\n- [ ] b\n").plan == Plan((Phase("", (Task("a"),)), Phase("B", (Task("b"),))))
    assert read_checklist("# A\n- [ ] a\n???\n- [ ] b\n") == ParsedChecklist(
        Plan((Phase("A", (Task("a"), Task("b"))),)),
        (LineProblem(3, "not a heading (# name), a task (- [ ] text) or a note (> text)"),),
    )


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("plain text", ["line 1: not a heading (# name), a task (- [ ] text) or a note (> text)"]),
        (
            "# A\n\n#\n#NoSpace\n####### seven",
            [f"line {n}: not a heading (# name), a task (- [ ] text) or a note (> text)" for n in (3, 4, 5)],
        ),
        (
            "- [ ]tight\n- [xx] two\n1. [ ] one",
            [f"line {n}: not a heading (# name), a task (- [ ] text) or a note (> text)" for n in (1, 2, 3)],
        ),
        ("- [?] what", ["line 1: unknown mark [?]; known are [ ], [/], [x], [-] and [!]"]),
        ("- [\x1b] what", ["line 1: unknown mark [␛]; known are [ ], [/], [x], [-] and [!]"]),
        ("- [😀] what", ["line 1: not a heading (# name), a task (- [ ] text) or a note (> text)"]),
        ("> note\n# A\n> note", [f"line {n}: a note (> text) without a task above it" for n in (1, 3)]),
        (
            "- [ ] a\nwhat\n> note",
            [
                "line 2: not a heading (# name), a task (- [ ] text) or a note (> text)",
                "line 3: a note (> text) without a task above it",
            ],
        ),
        ('- [ ] <!--tildone "a\\nb"-->', ["line 1: a task without text"]),
        (
            "- [ ] a\u2028b\n- [ ] a\rb",
            [f"line {n}: not a heading (# name), a task (- [ ] text) or a note (> text)" for n in (1, 2)],
        ),
    ],
)
def test_a_line_that_cannot_be_parsed_is_a_problem_with_its_number(text: str, problems: list[str]) -> None:
    """The message describes the valid forms."""
    assert [str(problem) for problem in read_checklist(text).problems] == problems


@given(st.one_of(any_text, markdownish.map("\n".join), markdownish.map("".join)))
@settings(max_examples=EXAMPLES)
def test_any_text_can_be_read_and_its_plan_survives_a_round_trip(text: str) -> None:
    """Every skipped line is reported once, in order."""
    parsed = read_checklist(text)
    numbers = [problem.line for problem in parsed.problems]

    assert read_checklist(lossless_checklist(parsed.plan)) == ParsedChecklist(parsed.plan)
    assert numbers == sorted(set(numbers))


TESTS = Check(("pytest", "-q", "a b"), "sub dir", 300, 2, ("src", "it's *"))
WHOLE = replace(
    flat(
        Task("Parser", IN_PROGRESS, ("a note", "$ not a check\n(after 9)"), check=TESTS, touches=("src/*.py", "docs")),
        Task("Docs", after=(1,)),
        Task("Release", after=(1, 2), check=Check(("make", "release"))),
    ),
    check=Check(("make", "test")),
)
TEXT = """\
$ make test

- [/] Parser
  $ pytest -q 'a b'
  (folder 'sub dir')
  (seconds 300)
  (retries 2)
  (watch src 'it'"'"'s *')
  (touches 'src/*.py' docs)
  > a note
  >
  > $ not a check
  > (after 9)
- [ ] Docs
  (after 1)
- [ ] Release
  $ make release
  (after 1, 2)
"""

wild_texts = st.text(max_size=8) | st.sampled_from(["", " ", "\r", "a\nb", "$ x", "<!--tildone 1-->", "\x1b[2J", "--"])
wild_words = st.lists(wild_texts, max_size=3).map(tuple)
wild_checks = st.builds(
    Check, st.lists(wild_texts, max_size=2).map(lambda words: ("make", *words)), wild_texts, st.integers(1, 999999),
    st.integers(0, 9), wild_words,
)  # fmt: skip
wild_tasks = st.builds(
    Task,
    wild_texts,
    any_plan.statuses,
    st.lists(wild_texts, max_size=2).map(tuple),
    check=st.none() | wild_checks,
    after=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    touches=wild_words,
)
wild_plans = st.builds(
    lambda tasks, more, check: Plan((Phase("", tuple(tasks)), Phase("More", tuple(more))), check=check),
    st.lists(wild_tasks, min_size=3, max_size=4),
    st.lists(wild_tasks, max_size=2),
    st.none() | wild_checks,
)


def test_attributes_are_lines_below_their_task() -> None:
    """With any line ends; tasks that come before are places in the text."""
    assert lossless_checklist(WHOLE) == TEXT
    assert read_checklist(TEXT).plan == WHOLE
    assert read_checklist(TEXT).problems == ()
    assert importer.read(TEXT).plan == WHOLE
    assert read_checklist(TEXT.replace("\n", "\r\n")).plan == WHOLE
    assert read_checklist(TEXT.replace("  (", "\t(").replace("  $", "\t$")).plan == WHOLE

    steps: list[Step] = [Order(Numbered((4,)), (1, 3)), Remove(Numbered((1, 2))), Touch(Numbered((3,)), ("a",))]
    plan = reduce(plan_of("a", "b", "c", "d"), steps, Rules()).after

    assert lossless_checklist(plan) == "- [ ] c\n  (touches a)\n- [ ] d\n  (after 1)\n"
    assert read_checklist(lossless_checklist(plan)).plan == without_numbers(plan)


@example(
    plan=replace(flat(Task("x", check=Check(("A=1", "b"))), Task("y"), Task("z")), check=Check(("=",))), escaped=False
)
@given(wild_plans, st.booleans())
def test_every_plan_is_restored_whatever_its_attributes_contain(plan: Plan, escaped: bool) -> None:  # noqa: FBT001  given
    parsed = read_checklist(lossless_checklist(plan, escaped=escaped))

    assert (parsed.plan, parsed.problems) == (plan, ())


@given(st.lists(wild_texts, min_size=1, max_size=3), wild_texts)
def test_no_text_or_note_is_read_as_an_attribute(notes: list[str], text: str) -> None:
    plan = flat(Task(text, notes=tuple(notes)))

    for restored in (read_checklist(lossless_checklist(plan)).plan, read_checklist(portable_checklist(plan)).plan):
        assert restored.check is None
        assert all((task.check, task.after, task.touches) == (None, (), ()) for task in restored.tasks)


def test_an_edited_line_counts_more_than_the_comment_below_it() -> None:
    """Only options of a check can come before all tasks."""
    lines = attribute_lines(Attributes(Check(("make", "a\tb\x1b"))), lambda line: line.isprintable())

    assert lines[1].startswith("<!--tildone ")
    assert restore_attributes(lines).check == Check(("make", "a\tb\x1b"))
    assert restore_attributes(["$ tox", lines[1]]).check == Check(("tox",))
    assert read_checklist("$ make\n(seconds 5)\n- [ ] a").plan.check == Check(("make",), seconds=5)
    assert read_checklist("(after 1)\n- [ ] a").problems[0].line == 1
    assert read_checklist("# A\n$ make\n- [ ] a").problems[0].line == 2


@pytest.mark.parametrize(
    "data", ["[]", "{}", '{"after":["x"],"touches":[]}', '{"check":{},"after":[],"touches":[]}', "{"]
)
def test_a_comment_of_another_form_is_ignored(data: str) -> None:
    assert restore_attributes(["$ make", f"<!--tildone {data}-->"]) == Attributes(Check(("make",)))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("  $ make && tox", LineProblem(2, "&& needs a shell: sh -c '…'")),
        ("  $ true", LineProblem(2, "a check ($ command) that can't fail")),
        ("  $ make\n  $ tox", LineProblem(3, "a second check ($ command) of the same task")),
        ("  $ make\n  (folder /elsewhere)", LineProblem(3, "a check (folder …) outside of the working tree")),
        ("  $ make\n  (folder a/../../b)", LineProblem(3, "a check (folder …) outside of the working tree")),
        ("  (seconds 5)", LineProblem(2, "(seconds …) without a check ($ command) above it")),
        ("  $ make\n  (seconds soon)", LineProblem(3, "(seconds …) takes numbers")),
        ("  (after parser)", LineProblem(2, "(after …) takes numbers")),
        ("  (after 1, 2)", LineProblem(2, "(after …) takes the numbers of tasks, 1 to 1")),
        ("  (after 0)", LineProblem(2, "(after …) takes the numbers of tasks, 1 to 1")),
        ("$ make", LineProblem(2, "not a heading (# name), a task (- [ ] text) or a note (> text)")),
        ("  (whatever 5)", LineProblem(2, "not a heading (# name), a task (- [ ] text) or a note (> text)")),
        ("  <!--tildone {}-->\n  $ make", LineProblem(2, "not a check ($ command) or an attribute such as (after 2)")),
    ],
)
def test_a_line_without_meaning_is_a_problem(lines: str, problem: LineProblem) -> None:
    assert read_checklist(f"- [ ] a\n{lines}").problems == (problem,)


def test_attributes_are_found_in_other_markdown() -> None:
    """What is wrong is left out with a warning; the rest is imported."""
    imported = importer.read(
        "## Plan\n\nSome words.\n\n1. [ ] a\n   wrapped\n   $ make test\n   (seconds 7)\n   $ a | b\n   > note\n"
        "* [x] b\n  (after 1)\n* [ ] c\n  (after 9)\n"
    )

    first, second, third = imported.plan.tasks
    assert (first.text, first.check, first.notes) == ("a wrapped", Check(("make", "test"), seconds=7), ("note",))
    assert (second.status, second.after) == (COMPLETED, (1,))
    assert third.text == "c"
    assert [str(warning) for warning in imported.warnings] == [
        "line 9: an attribute of a task is not imported: | needs a shell: sh -c '…'",
        "line 3: text outside of tasks is not imported",
        "an order of tasks is not imported",
    ]


def test_todo_txt_leaves_attributes_out_and_says_so() -> None:
    plan = reduce(
        plan_of("a", "b"),
        [SetCheck(Numbered((2,)), TESTS), SetCheck(None, TESTS), Mark(Numbered((1,)), COMPLETED)],
        Rules(),
    ).after

    assert [str(warning) for warning in todotxt.write(plan).warnings] == [
        "line 2: the check, the order and the files of a task are left out",
        "the check of the plan is left out",
    ]


IMPORTED_EACH = 60

ISSUE = """\
## What is missing

The importer does not read *anything* yet. See #11.

### Tasks

- [x] #12
- [ ] https://github.com/octo/cat/issues/34
* [X] octo/cat#56 — the parser
+ [ ] **Docs** for `--from`

### Notes
* a plain bullet
"""

pieces = st.sampled_from(
    [piece for family in FAMILIES.values() for piece in family]
    + [
        "\n- [ ] ",
        "\n  - [x] ",
        "\n1. [ ] ",
        "\n## ",
        "\n```\n",
        "\n~~~",
        "<!--",
        "-->",
        "\n---\n",
        "\n> ",
        "\t",
        "\n\n",
    ]
)


def warning_texts(text: str) -> list[str]:
    return [str(warning) for warning in read(text).warnings]


def test_the_tasks_of_an_issue_are_found_under_their_headings() -> None:
    """Prose, plain bullets and headings without tasks are reported; CRLF changes nothing."""
    imported = read(ISSUE)

    assert imported.plan == Plan(
        (
            Phase(
                "Tasks",
                (
                    Task("#12", COMPLETED),
                    Task("https://github.com/octo/cat/issues/34"),
                    Task("octo/cat#56 — the parser", COMPLETED),
                    Task("**Docs** for `--from`"),
                ),
            ),
        )
    )
    assert imported.warnings == (
        ConversionWarning("a heading without tasks is not imported", (1, 12)),
        ConversionWarning("text outside of tasks is not imported", (3, 13)),
    )
    assert read(ISSUE.replace("\n", "\r\n")) == read(ISSUE)


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "23)"])
def test_tasks_are_found_in_every_kind_of_list(bullet: str) -> None:
    assert read(f"Do:\n\n{bullet} [ ] a\n{bullet} [x] b\n").plan == flat(Task("a"), Task("b", COMPLETED))


def test_a_task_with_an_unknown_mark_is_pending() -> None:
    """Losing the task would be worse."""
    imported = read("Do:\n- [/] a\n- [-] b\n- [!] c\n- [?] d\n- [link](e)\n")

    assert imported.plan == flat(Task("a", IN_PROGRESS), Task("b", ABANDONED), Task("c", BLOCKED), Task("d"))
    assert ConversionWarning("unknown mark [?]; the task is imported as pending", (5,)) in imported.warnings


def test_nested_tasks_follow_their_parent_and_those_below_a_plain_item_have_its_text() -> None:
    """Also in lists without other foreign lines, and with tabs."""
    imported = read("- [ ] a\n\t- [x] b\n\t\t- [ ] c\n- [ ] d\n")

    assert imported.plan == flat(Task("a"), Task("b", COMPLETED), Task("c"), Task("d"))
    assert imported.warnings == (ConversionWarning("a nested task follows its parent; the nesting is lost", (2, 3)),)

    imported = read("- Backend:\n  - [ ] API\n-\n  - [ ] b\n")

    assert imported.plan == unnumbered_plan_of("Backend: API", "b")
    assert imported.warnings[0] == ConversionWarning(
        "a task below a plain list item is prefixed with that item's text", (2,)
    )


def test_a_wrapped_text_is_joined() -> None:
    """Two trailing spaces end the text; the following lines are a note."""
    imported = read(
        "Do:\n- [ ] a long\n  text\n\tof three lines\n- [ ] short  \n  more\n  of it\n- [ ] x\n  y  \n  z\n"
    )

    assert imported.plan == flat(
        Task("a long text of three lines"), Task("short", notes=("more\nof it",)), Task("x y", notes=("z",))
    )


def test_content_below_a_task_becomes_its_notes() -> None:
    """Paragraphs, plain items, code and quotations, also after nested tasks."""
    text = """\
Do:
- [ ] a

  First.
  - item
    deeper
  ```sh
  - [ ] no task

  true
  ```
  - [ ] b

  Second, of a.

  > quoted
> of nobody
"""

    assert read(text).plan == flat(
        Task(
            "a",
            notes=("First.\n- item\n  deeper\n```sh\n- [ ] no task", "true\n```", "Second, of a.", "quoted\nof nobody"),
        ),
        Task("b"),
    )
    assert warning_texts(text) == [
        "line 12: a nested task follows its parent; the nesting is lost",
        "line 1: text outside of tasks is not imported",
    ]
    assert read("Do:\n- [ ] a\n> one\n> two\n\n> three\n").plan == flat(Task("a", notes=("one\ntwo",)))


@pytest.mark.parametrize(
    "code",
    [
        "```\n- [ ] no\n```",
        "````md\n```\n- [ ] no\n````",
        "~~~ `x`\n- [ ] no\n~~~~",
        "    - [ ] no",
        "\t- [ ] no",
        "```\n- [ ] no",
    ],
)
def test_a_task_in_code_is_not_imported(code: str) -> None:
    """Fenced, indented, or in a fence that is never closed."""
    imported = read(f"- [ ] yes\n\nprose\n\n{code}\n")

    assert imported.plan == unnumbered_plan_of("yes")
    assert [warning.message for warning in imported.warnings] == [
        "a task in code is not imported",
        "text outside of tasks is not imported",
    ]


def test_a_fenced_tasklist_is_not_code() -> None:
    """A former feature of GitHub."""
    text = "```[tasklist]\n### Next\n- [ ] a\n```\n- [ ] b\n```\n- [ ] no\n```\n"

    assert read(text).plan == Plan((Phase("Next", (Task("a"), Task("b"))),))


def test_comments_are_not_imported() -> None:
    """Within a line or over several lines; code and unclosed comments stay text."""
    text = """\
- [ ] a <!-- hint -->
<!-- one
- [ ] no
--> - [ ] behind
- [ ] `<!-- code -->` and <!-- no end
- [ ] b
"""

    imported = read(text)

    assert imported.plan == unnumbered_plan_of("a", "behind", "`<!-- code -->` and <!-- no end", "b")
    assert imported.warnings == (
        ConversionWarning("a comment is not imported", (1, 2)),
        ConversionWarning("a task in a comment is not imported", (3,)),
    )


def test_front_matter_is_not_text() -> None:
    """Without an end, or with a task in it, it is a rule."""
    assert read("---\ntitle: x\n---\n- [ ] a\n").plan == unnumbered_plan_of("a")
    assert warning_texts("---\ntitle: x\n...\n- [ ] a\n") == ["lines 1, 2 and 3: text outside of tasks is not imported"]
    assert read("---\n- [ ] a\n---\n- [ ] b\n").plan == unnumbered_plan_of("a", "b")
    assert read("---\nprose\n- [ ] a\n").plan == unnumbered_plan_of("a")
    assert warning_texts("---\nprose\n") == ["lines 1 and 2: text outside of tasks is not imported"]


def test_headings_of_any_level_are_phases_also_underlined_ones() -> None:
    """A rule is none. Closing signs are not part of the name; a heading without tasks is not a phase."""
    text = "One\n===\n- [ ] a\n  ---\n\nTwo\n---\n- [ ] b\n\n* * *\n___\n- [ ] c\n# \n"

    assert read(text).plan == Plan((Phase("One", (Task("a"),)), Phase("Two", (Task("b"), Task("c")))))

    text = "# Title\n- [ ] top\n## One ##\n- [ ] a\n#### C#\n- [ ] b\n"

    assert [phase.name for phase in read(text).plan.phases] == ["Title", "One", "C#"]
    assert [phase.name for phase in read("# Title\n\n## One\n- [ ] a\n").plan.phases] == ["One"]


def test_a_task_in_a_quotation_or_without_text_is_reported() -> None:
    assert warning_texts("> - [ ] theirs\n\n- [ ] ours\n") == [
        "line 1: a task in a quotation is not imported",
        "line 1: text outside of tasks is not imported",
    ]
    assert read("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n").plan == unnumbered_plan_of("a")
    assert "a task without text is not imported" in warning_texts("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n")


def test_unusual_line_breaks_do_not_split_a_task() -> None:
    """Nor its notes or its phase."""
    imported = read("## A\u2028B\n- [ ] a\rb\n  > n\u2029m\n")

    assert imported.plan == Plan((Phase("A⏎B", (Task("a⏎b", notes=("n⏎m",)),)),))


def test_an_exported_plan_is_imported_without_warnings() -> None:
    for plan in (plan for name, family in FAMILIES.items() for plan in plans(family, name, IMPORTED_EACH)):
        imported = read(lossless_checklist(plan))

        assert (imported.plan, imported.warnings) == (plan, ())


def test_an_exported_plan_among_prose_is_imported_exactly() -> None:
    names = ("ordinary words", "line breaks", "half surrogate pairs", "emoji and scripts")
    for plan in (plan for name in names for plan in plans(FAMILIES[name], name, IMPORTED_EACH)):
        kept = Plan(tuple(phase for phase in plan.phases if phase.tasks))

        assert read(f"Prose.\n\n{lossless_checklist(kept)}\nMore prose.\n").plan == kept


@given(st.text(st.characters(codec=None)) | st.lists(pieces, max_size=30).map("".join))
def test_any_text_can_be_imported(text: str) -> None:
    imported = read(text)

    assert imported.plan == read(text.replace("\r\n", "\n")).plan
    assert has_checkbox(portable_checklist(imported.plan)) is bool(imported.plan.tasks)


def test_many_unclosed_comments_are_read_in_linear_time() -> None:
    assert read(f"Do:\n- [ ] --> {'<!-- ' * 200_000}\n").plan.tasks


@pytest.mark.parametrize(
    ("text", "found"), [("- [ ] a", True), ("x\r\n  1. [X] b\r\n", True), ("- a\n[ ] b\n", False), ("", False)]
)
def test_a_checkbox_is_detected_on_any_line(text: str, *, found: bool) -> None:
    assert has_checkbox(text) is found
