"""The Markdown writers and the reader: portable output, and lossless round trips."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, LONG, plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, unnumbered_plan_of
from tildone.plan.formats.markdown import lossless_checklist, portable_checklist
from tildone.plan.formats.markdown_reader import LineProblem, ParsedChecklist, reader_read
from tildone.plan.model import Phase, Plan, Status, Task, flat
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
    """Headings, marks, quoted notes, a blank line between phases."""
    assert portable_checklist(ORDINARY) == ORDINARY_TEXT


def test_a_portable_checklist_of_an_empty_plan_has_a_heading() -> None:
    """As in the original."""
    assert portable_checklist(Plan()) == "# Todos\n"


def test_a_portable_checklist_writes_unusual_plans_as_the_original_does() -> None:
    """An unnamed phase, a note with empty lines, CRLF in a note."""
    plan = Plan((Phase("", (Task("a", notes=("one\n\ntwo", "", "x\r\ny")),)),))

    assert portable_checklist(plan) == "# \n- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  >\n  > x\r\n  > y\n"


def test_a_text_cannot_forge_a_line_of_a_checklist() -> None:
    """Nor can a phase name or a note; lone surrogates are replaced."""
    plan = Plan((Phase("A\n# B", (Task("a\n- [x] b", notes=("n\r- [x] c\u2028d",)), Task("\ud83d"))),))

    text = portable_checklist(plan)

    assert text == "# A⏎# B\n- [ ] a⏎- [x] b\n  > n⏎- [x] c⏎d\n- [ ] \ufffd\n"
    assert text.encode()


@given(ordinary_plans)
def test_the_lossless_and_the_portable_form_of_an_ordinary_plan_are_equal(plan: Plan) -> None:
    """Comments are only for values that would be lost; CRLF line ends change nothing."""
    assert lossless_checklist(plan) == portable_checklist(plan)
    assert (
        reader_read(portable_checklist(plan).replace("\n", "\r\n"))
        == reader_read(portable_checklist(plan))
        == ParsedChecklist(plan)
    )


def test_a_flat_list_has_no_heading_and_an_empty_plan_no_text() -> None:
    """Only the first phase can have no heading."""
    assert lossless_checklist(unnumbered_plan_of("a", "b")) == "- [ ] a\n- [ ] b\n"
    assert lossless_checklist(Plan()) == ""
    assert (
        lossless_checklist(Plan((Phase(""), Phase("", (Task("a"),)))))
        == '# <!--tildone ""-->\n\n# <!--tildone ""-->\n- [ ] a\n'
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


def test_notes_that_would_be_lost_share_one_comment() -> None:
    """It is the last line of the quotation."""
    plan = flat(Task("a", notes=("one\n\ntwo", " ")))

    assert lossless_checklist(plan) == (
        '- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  > <!--tildone ["one\\n\\ntwo"," "]-->\n'
    )


def test_every_generated_plan_survives_a_round_trip() -> None:
    """Without problems, also with CRLF line ends.

    If the portable form survives, the lossless form is equal to it, unless a text looks like one of our comments.
    """
    tried = 0
    for plan in (plan for name, family in FAMILIES.items() for plan in plans(family, name, PLANS_EACH)):
        text = lossless_checklist(plan)
        tried += 1

        assert reader_read(text) == ParsedChecklist(plan)
        assert reader_read(text.encode().decode().replace("\n", "\r\n")) == ParsedChecklist(plan)
        assert "\r" not in text
        assert (
            text == portable_checklist(plan)
            or reader_read(portable_checklist(plan)) != ParsedChecklist(plan)
            or "<!--tildone" in text
        )

    assert tried == len(FAMILIES) * PLANS_EACH


@given(any_plans)
@settings(max_examples=EXAMPLES)
@example(flat(Task("a", notes=("<!--tildone []-->",))))
@example(flat(Task("a", notes=("",))))
def test_any_plan_survives_a_round_trip(plan: Plan) -> None:
    """With any characters."""
    assert reader_read(lossless_checklist(plan)) == ParsedChecklist(plan)


@given(any_plans)
@example(flat(Task("a\u202eb", notes=("c\u200b", "</todo>"))))
def test_a_form_for_any_reader_survives_too_and_shows_nothing_that_is_not_safe(plan: Plan) -> None:
    text = lossless_checklist(plan, escaped=True)

    assert reader_read(text) == ParsedChecklist(plan)
    assert [line for line in text.splitlines() if line != safe_text(line)] == []


def test_very_long_texts_survive_a_round_trip() -> None:
    for plan in plans(LONG, "long", 20):
        assert reader_read(lossless_checklist(plan)) == ParsedChecklist(plan)


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
    assert reader_read(edited) == ParsedChecklist(flat(task))


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
    assert reader_read(f"- [ ] t\n{edited}") == ParsedChecklist(flat(Task("t", notes=notes)))


def test_a_phase_can_be_renamed_in_an_editor() -> None:
    """Its comment no longer matches and is ignored."""
    named = Plan((Phase("a\nb"),))

    assert reader_read(lossless_checklist(named)) == ParsedChecklist(named)
    assert reader_read(lossless_checklist(named).replace("a⏎b", "c")) == ParsedChecklist(Plan((Phase("c"),)))


def test_an_element_whose_visible_text_was_deleted_is_a_problem() -> None:
    parsed = reader_read('# <!--tildone "a\\nb"-->\n- [ ] <!--tildone "a\\nb"-->\n')

    assert parsed.plan == Plan((Phase(""),))
    assert [problem.line for problem in parsed.problems] == [1, 2]


def test_variants_of_the_form_are_read() -> None:
    """A byte order mark, tabs, all bullets, capital marks, any heading level, tight brackets, blank lines."""
    text = (
        "\ufeff###### Six  \r\n\r\n\t* [X] done\r\n+[>]\tactive\n\n    >   a note \n-  []  open\n- [~] out\n>no space\n"
    )

    assert reader_read(text) == ParsedChecklist(
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


def test_tasks_above_the_first_heading_are_in_an_unnamed_phase() -> None:
    """As in a flat list."""
    assert reader_read("- [ ] a\n# B\n- [ ] b\n").plan == Plan((Phase("", (Task("a"),)), Phase("B", (Task("b"),))))


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
    assert [str(problem) for problem in reader_read(text).problems] == problems


def test_the_lines_around_a_problem_are_read() -> None:
    assert reader_read("# A\n- [ ] a\n???\n- [ ] b\n") == ParsedChecklist(
        Plan((Phase("A", (Task("a"), Task("b"))),)),
        (LineProblem(3, "not a heading (# name), a task (- [ ] text) or a note (> text)"),),
    )


@given(st.one_of(any_text, markdownish.map("\n".join), markdownish.map("".join)))
@settings(max_examples=EXAMPLES)
def test_any_text_can_be_read_and_its_plan_survives_a_round_trip(text: str) -> None:
    """Every skipped line is reported once, in order."""
    parsed = reader_read(text)
    numbers = [problem.line for problem in parsed.problems]

    assert reader_read(lossless_checklist(parsed.plan)) == ParsedChecklist(parsed.plan)
    assert numbers == sorted(set(numbers))
