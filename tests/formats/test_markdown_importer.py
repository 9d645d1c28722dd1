"""Checklists of any hand: the tasks are found among everything else, and what is left is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, plan_of
from tildone.core.plan import Phase, Plan, Task, flat
from tildone.formats.conversion import ConversionWarning
from tildone.formats.markdown.importer import has_checkbox, read
from tildone.formats.markdown.writer import lossless_checklist, portable_checklist

PLANS_EACH = 60

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


def said(text: str) -> list[str]:
    return [str(warning) for warning in read(text).warnings]


def test_the_tasks_of_an_issue_are_found_under_their_headings() -> None:
    """Prose, plain bullets and headings without a task stay behind, and that is said."""
    taken = read(ISSUE)

    assert taken.plan == Plan(
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
    assert taken.warnings == (
        ConversionWarning("a heading without tasks is not imported", (1, 12)),
        ConversionWarning("text outside of tasks is not imported", (3, 13)),
    )


def test_windows_line_ends_change_nothing() -> None:
    """Every line keeps its number."""
    assert read(ISSUE.replace("\n", "\r\n")) == read(ISSUE)


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "23)"])
def test_every_kind_of_list_has_tasks(bullet: str) -> None:
    """Ordered ones, too."""
    assert read(f"Do:\n\n{bullet} [ ] a\n{bullet} [x] b\n").plan == flat(Task("a"), Task("b", COMPLETED))


def test_every_mark_of_ours_is_known_and_others_are_taken_as_open() -> None:
    """Losing a task would be worse than guessing at its mark."""
    taken = read("Do:\n- [/] a\n- [-] b\n- [!] c\n- [?] d\n- [link](e)\n")

    assert taken.plan == flat(Task("a", IN_PROGRESS), Task("b", ABANDONED), Task("c", BLOCKED), Task("d"))
    assert ConversionWarning("unknown mark [?]; the task is imported as pending", (5,)) in taken.warnings


def test_tasks_within_tasks_follow_them() -> None:
    """Also where no other line is foreign, and with tabs."""
    taken = read("- [ ] a\n\t- [x] b\n\t\t- [ ] c\n- [ ] d\n")

    assert taken.plan == flat(Task("a"), Task("b", COMPLETED), Task("c"), Task("d"))
    assert taken.warnings == (ConversionWarning("a nested task follows its parent; the nesting is lost", (2, 3)),)


def test_tasks_within_a_plain_item_have_its_text_before_theirs() -> None:
    """An item without text has nothing to give."""
    taken = read("- Backend:\n  - [ ] API\n-\n  - [ ] b\n")

    assert taken.plan == plan_of("Backend: API", "b")
    assert taken.warnings[0] == ConversionWarning(
        "a task below a plain list item is prefixed with that item's text", (2,)
    )


def test_a_wrapped_text_is_one_text() -> None:
    """Two spaces at its end end a line, and what follows is a note."""
    taken = read("Do:\n- [ ] a long\n  text\n\tof three lines\n- [ ] short  \n  more\n  of it\n- [ ] x\n  y  \n  z\n")

    assert taken.plan == flat(
        Task("a long text of three lines"), Task("short", notes=("more\nof it",)), Task("x y", notes=("z",))
    )


def test_what_belongs_to_a_task_becomes_its_notes() -> None:
    """Paragraphs, plain items, code and quotations, wherever tasks stand between."""
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
            notes=(
                "First.\n- item\n  deeper\n```sh\n- [ ] no task",
                "true\n```",
                "Second, of a.",
                "quoted\nof nobody",
            ),
        ),
        Task("b"),
    )
    assert said(text) == [
        "line 12: a nested task follows its parent; the nesting is lost",
        "line 1: text outside of tasks is not imported",
    ]


def test_a_quotation_right_below_a_task_is_a_note_of_it() -> None:
    """As it is where nothing else is foreign."""
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
def test_a_task_in_code_is_none(code: str) -> None:
    """Fenced, longer fenced, indented, and up to the end if the fence is never closed."""
    taken = read(f"- [ ] yes\n\nprose\n\n{code}\n")

    assert taken.plan == plan_of("yes")
    assert [warning.message for warning in taken.warnings] == [
        "a task in code is not imported",
        "text outside of tasks is not imported",
    ]


def test_a_list_of_tasks_in_a_fence_of_its_own_is_no_code() -> None:
    """As GitHub has had it."""
    text = "```[tasklist]\n### Next\n- [ ] a\n```\n- [ ] b\n```\n- [ ] no\n```\n"

    assert read(text).plan == Plan((Phase("Next", (Task("a"), Task("b"))),))


def test_comments_are_left_out_and_said() -> None:
    """Within a line, over several, with a task behind their end; not what only looks like one."""
    text = """\
- [ ] a <!-- hint -->
<!-- one
- [ ] no
--> - [ ] behind
- [ ] `<!-- code -->` and <!-- no end
- [ ] b
"""

    taken = read(text)

    assert taken.plan == plan_of("a", "behind", "`<!-- code -->` and <!-- no end", "b")
    assert taken.warnings == (
        ConversionWarning("a comment is not imported", (1, 2)),
        ConversionWarning("a task in a comment is not imported", (3,)),
    )


def test_data_before_the_text_is_no_text() -> None:
    """It has an end, and no task in it; else it is a rule like any other."""
    assert read("---\ntitle: x\n---\n- [ ] a\n").plan == plan_of("a")
    assert said("---\ntitle: x\n...\n- [ ] a\n") == ["lines 1, 2 and 3: text outside of tasks is not imported"]
    assert read("---\n- [ ] a\n---\n- [ ] b\n").plan == plan_of("a", "b")
    assert read("---\nprose\n- [ ] a\n").plan == plan_of("a")
    assert said("---\nprose\n") == ["lines 1 and 2: text outside of tasks is not imported"]


def test_a_line_below_makes_a_heading() -> None:
    """And a rule is none, wherever it stands."""
    text = "One\n===\n- [ ] a\n  ---\n\nTwo\n---\n- [ ] b\n\n* * *\n___\n- [ ] c\n# \n"

    assert read(text).plan == Plan((Phase("One", (Task("a"),)), Phase("Two", (Task("b"), Task("c")))))


def test_headings_are_phases_whatever_their_level() -> None:
    """Signs that close one are no part of its name; a title without a task is no phase."""
    text = "# Title\n- [ ] top\n## One ##\n- [ ] a\n#### C#\n- [ ] b\n"

    assert [phase.name for phase in read(text).plan.phases] == ["Title", "One", "C#"]
    assert [phase.name for phase in read("# Title\n\n## One\n- [ ] a\n").plan.phases] == ["One"]


def test_a_task_that_somebody_quotes_is_none() -> None:
    """It is another's."""
    assert said("> - [ ] theirs\n\n- [ ] ours\n") == [
        "line 1: a task in a quotation is not imported",
        "line 1: text outside of tasks is not imported",
    ]


def test_a_task_without_text_is_said() -> None:
    """A comment that holds nothing is no text."""
    assert read("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n").plan == plan_of("a")
    assert "a task without text is not imported" in said("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n")


def test_odd_line_breaks_do_not_part_a_task() -> None:
    """Nor lose it, nor its notes, nor its phase."""
    taken = read("## A\u2028B\n- [ ] a\rb\n  > n\u2029m\n")

    assert taken.plan == Plan((Phase("A⏎B", (Task("a⏎b", notes=("n⏎m",)),)),))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_tildone_wrote_is_read_as_tildone_reads_it(family: str) -> None:
    """Without a word about it."""
    for plan in plans(FAMILIES[family], family, PLANS_EACH):
        taken = read(lossless_checklist(plan))

        assert (taken.plan, taken.warnings) == (plan, ())


@pytest.mark.parametrize("family", ["ordinary words", "line breaks", "half surrogate pairs", "emoji and scripts"])
def test_a_plan_of_ours_comes_back_from_among_prose(family: str) -> None:
    """The texts and notes are exact still."""
    for plan in plans(FAMILIES[family], family, PLANS_EACH):
        kept = Plan(tuple(phase for phase in plan.phases if phase.tasks))

        assert read(f"Prose.\n\n{lossless_checklist(kept)}\nMore prose.\n").plan == kept


@given(st.text(st.characters(codec=None)) | st.lists(pieces, max_size=30).map("".join))
def test_any_text_is_read(text: str) -> None:
    """And no task of it is lost that is not in code, a comment or a quotation."""
    taken = read(text)

    assert taken.plan == read(text.replace("\r\n", "\n")).plan
    assert has_checkbox(portable_checklist(taken.plan)) is bool(taken.plan.tasks)


def test_many_comments_that_never_end_are_read_in_no_time() -> None:
    """Not in the square of their number, which would be days."""
    assert read(f"Do:\n- [ ] --> {'<!-- ' * 200_000}\n").plan.tasks


@pytest.mark.parametrize(
    ("text", "found"), [("- [ ] a", True), ("x\r\n  1. [X] b\r\n", True), ("- a\n[ ] b\n", False), ("", False)]
)
def test_a_checklist_is_known_by_a_box(text: str, *, found: bool) -> None:
    """On any line."""
    assert has_checkbox(text) is found
