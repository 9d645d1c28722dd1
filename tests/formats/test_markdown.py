"""The Markdown writers and the reader: portable output, and lossless round trips."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, LONG, plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.formats.markdown.reader import LineProblem, ParsedChecklist, read
from tildone.formats.markdown.writer import lossless_checklist, portable_checklist

PLANS_EACH = 950
EXAMPLES = 500

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


def test_a_checklist_is_what_other_tools_write() -> None:
    """Headings, marks, quoted notes, a blank line between phases."""
    assert portable_checklist(ORDINARY) == ORDINARY_TEXT


def test_a_checklist_of_nothing_is_an_empty_list_of_todos() -> None:
    """As the original writes it."""
    assert portable_checklist(Plan()) == "# Todos\n"


def test_a_checklist_keeps_the_shape_that_others_give_to_odd_plans() -> None:
    """An unnamed phase, a note with empty lines, Windows line ends in a note."""
    plan = Plan((Phase("", (Task("a", notes=("one\n\ntwo", "", "x\r\ny")),)),))

    assert portable_checklist(plan) == "# \n- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  >\n  > x\r\n  > y\n"


def test_a_text_cannot_forge_a_line_of_a_checklist() -> None:
    """Nor can a name, nor a note by other breaks than its own; and no half a character spoils the file."""
    plan = Plan((Phase("A\n# B", (Task("a\n- [x] b", notes=("n\r- [x] c\u2028d",)), Task("\ud83d"))),))

    text = portable_checklist(plan)

    assert text == "# A⏎# B\n- [ ] a⏎- [x] b\n  > n⏎- [x] c⏎d\n- [ ] \ufffd\n"
    assert text.encode()


@given(ordinary_plans)
def test_the_document_of_an_ordinary_plan_is_its_checklist(plan: Plan) -> None:
    """Comments are for what would not come back without; an editor's Windows line ends change nothing."""
    assert lossless_checklist(plan) == portable_checklist(plan)
    assert (
        read(portable_checklist(plan).replace("\n", "\r\n")) == read(portable_checklist(plan)) == ParsedChecklist(plan)
    )


def test_a_flat_list_has_no_heading_and_no_plan_is_no_text() -> None:
    """Only the first phase can do without its name."""
    assert lossless_checklist(plan_of("a", "b")) == "- [ ] a\n- [ ] b\n"
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
def test_what_would_not_come_back_is_shown_and_kept_in_a_comment(text: str, line: str) -> None:
    """The comment is ASCII, and nothing in it can close it."""
    assert lossless_checklist(flat(Task(text))) == f"- [ ] {line}\n"
    assert lossless_checklist(Plan((Phase(text),))) == f"# {line}\n"


def test_notes_that_would_not_come_back_share_one_comment() -> None:
    """It stands in the quotation, below what it is about."""
    plan = flat(Task("a", notes=("one\n\ntwo", " ")))

    assert lossless_checklist(plan) == (
        '- [ ] a\n  > one\n  >\n  > two\n  >\n  >\n  > <!--tildone ["one\\n\\ntwo"," "]-->\n'
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_plan_comes_back_from_its_document(family: str) -> None:
    """The same plan, without a problem, from a file that any program can write, also with Windows line ends.

    Where the checklist comes back, the document is the checklist, but for what looks like a comment of ours.
    """
    tried = 0
    for plan in plans(FAMILIES[family], family, PLANS_EACH):
        text = lossless_checklist(plan)
        tried += 1

        assert read(text) == ParsedChecklist(plan)
        assert read(text.encode().decode().replace("\n", "\r\n")) == ParsedChecklist(plan)
        assert "\r" not in text
        assert (
            text == portable_checklist(plan)
            or read(portable_checklist(plan)) != ParsedChecklist(plan)
            or "<!--tildone" in text
        )

    assert tried == PLANS_EACH


@given(any_plans)
@settings(max_examples=EXAMPLES)
@example(flat(Task("a", notes=("<!--tildone []-->",))))
@example(flat(Task("a", notes=("",))))
def test_every_plan_that_can_be_thought_of_comes_back_from_its_document(plan: Plan) -> None:
    """Of any characters there are."""
    assert read(lossless_checklist(plan)) == ParsedChecklist(plan)


def test_ten_thousand_plans_were_sent_there_and_back() -> None:
    """Those of the families and those that Hypothesis thought of."""
    assert len(FAMILIES) * PLANS_EACH + EXAMPLES >= 10_000


def test_very_long_texts_come_back() -> None:
    """Size changes nothing."""
    for plan in plans(LONG, "long", 20):
        assert read(lossless_checklist(plan)) == ParsedChecklist(plan)


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
def test_a_comment_is_believed_only_beside_what_was_written_with_it(edited: str, task: Task) -> None:
    """Checking a box keeps the exact text; an edit of the text is never lost."""
    assert read(edited) == ParsedChecklist(flat(task))


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
def test_notes_are_believed_the_same_way(edited: str, notes: tuple[str, ...]) -> None:
    """All of a task's notes together; what is written below the comment is new."""
    assert read(f"- [ ] t\n{edited}") == ParsedChecklist(flat(Task("t", notes=notes)))


def test_a_name_is_believed_the_same_way() -> None:
    """Renaming a phase in an editor works."""
    named = Plan((Phase("a\nb"),))

    assert read(lossless_checklist(named)) == ParsedChecklist(named)
    assert read(lossless_checklist(named).replace("a⏎b", "c")) == ParsedChecklist(Plan((Phase("c"),)))


def test_an_element_without_its_text_is_a_problem_and_not_a_guess() -> None:
    """Somebody deleted what was to be seen."""
    reading = read('# <!--tildone "a\\nb"-->\n- [ ] <!--tildone "a\\nb"-->\n')

    assert reading.plan == Plan((Phase(""),))
    assert [problem.line for problem in reading.problems] == [1, 2]


def test_a_list_by_another_hand_is_read() -> None:
    """A byte-order mark, tabs, stars, pluses, capital marks, all sizes of heading, tight brackets, a loose layout."""
    text = (
        "\ufeff###### Six  \r\n\r\n\t* [X] done\r\n+[>]\tactive\n\n    >   a note \n-  []  open\n- [~] out\n>no space\n"
    )

    assert read(text) == ParsedChecklist(
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


def test_tasks_above_the_first_heading_belong_to_no_named_phase() -> None:
    """As in a flat list."""
    assert read("- [ ] a\n# B\n- [ ] b\n").plan == Plan((Phase("", (Task("a"),)), Phase("B", (Task("b"),))))


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
def test_a_line_that_says_nothing_is_a_problem_with_its_number(text: str, problems: list[str]) -> None:
    """In words that say what would have been right."""
    assert [str(problem) for problem in read(text).problems] == problems


def test_a_problem_does_not_keep_the_rest_from_being_read() -> None:
    """Good lines above and below it count."""
    assert read("# A\n- [ ] a\n???\n- [ ] b\n") == ParsedChecklist(
        Plan((Phase("A", (Task("a"), Task("b"))),)),
        (LineProblem(3, "not a heading (# name), a task (- [ ] text) or a note (> text)"),),
    )


@given(st.one_of(any_text, markdownish.map("\n".join), markdownish.map("".join)))
@settings(max_examples=500)
def test_reading_never_fails_and_what_was_read_comes_back(text: str) -> None:
    """Any text has a plan in it, if only an empty one; every line it skips is named once, in order."""
    reading = read(text)
    numbers = [problem.line for problem in reading.problems]

    assert read(lossless_checklist(reading.plan)) == ParsedChecklist(reading.plan)
    assert numbers == sorted(set(numbers))
