"""Import of tasks from arbitrary Markdown, with warnings about other content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.hostile_plans import FAMILIES, plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, unnumbered_plan_of
from tildone.plan.formats import ConversionWarning
from tildone.plan.formats.markdown import lossless_checklist, portable_checklist
from tildone.plan.formats.markdown_reader import has_checkbox, read
from tildone.plan.model import Phase, Plan, Task, flat

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


def warning_texts(text: str) -> list[str]:
    return [str(warning) for warning in read(text).warnings]


def test_the_tasks_of_an_issue_are_found_under_their_headings() -> None:
    """Prose, plain bullets and headings without tasks are reported."""
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


def test_crlf_line_ends_change_nothing() -> None:
    assert read(ISSUE.replace("\n", "\r\n")) == read(ISSUE)


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "23)"])
def test_tasks_are_found_in_every_kind_of_list(bullet: str) -> None:
    assert read(f"Do:\n\n{bullet} [ ] a\n{bullet} [x] b\n").plan == flat(Task("a"), Task("b", COMPLETED))


def test_a_task_with_an_unknown_mark_is_pending() -> None:
    """Losing the task would be worse."""
    imported = read("Do:\n- [/] a\n- [-] b\n- [!] c\n- [?] d\n- [link](e)\n")

    assert imported.plan == flat(Task("a", IN_PROGRESS), Task("b", ABANDONED), Task("c", BLOCKED), Task("d"))
    assert ConversionWarning("unknown mark [?]; the task is imported as pending", (5,)) in imported.warnings


def test_nested_tasks_follow_their_parent() -> None:
    """Also in lists without other foreign lines, and with tabs."""
    imported = read("- [ ] a\n\t- [x] b\n\t\t- [ ] c\n- [ ] d\n")

    assert imported.plan == flat(Task("a"), Task("b", COMPLETED), Task("c"), Task("d"))
    assert imported.warnings == (ConversionWarning("a nested task follows its parent; the nesting is lost", (2, 3)),)


def test_tasks_below_a_plain_item_are_prefixed_with_its_text() -> None:
    """If it has any."""
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
            notes=(
                "First.\n- item\n  deeper\n```sh\n- [ ] no task",
                "true\n```",
                "Second, of a.",
                "quoted\nof nobody",
            ),
        ),
        Task("b"),
    )
    assert warning_texts(text) == [
        "line 12: a nested task follows its parent; the nesting is lost",
        "line 1: text outside of tasks is not imported",
    ]


def test_a_quotation_directly_below_a_task_is_its_note() -> None:
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


def test_an_underlined_line_is_a_heading() -> None:
    """A rule is not."""
    text = "One\n===\n- [ ] a\n  ---\n\nTwo\n---\n- [ ] b\n\n* * *\n___\n- [ ] c\n# \n"

    assert read(text).plan == Plan((Phase("One", (Task("a"),)), Phase("Two", (Task("b"), Task("c")))))


def test_headings_of_any_level_are_phases() -> None:
    """Closing signs are not part of the name; a heading without tasks is not a phase."""
    text = "# Title\n- [ ] top\n## One ##\n- [ ] a\n#### C#\n- [ ] b\n"

    assert [phase.name for phase in read(text).plan.phases] == ["Title", "One", "C#"]
    assert [phase.name for phase in read("# Title\n\n## One\n- [ ] a\n").plan.phases] == ["One"]


def test_a_task_in_a_quotation_is_not_imported() -> None:
    assert warning_texts("> - [ ] theirs\n\n- [ ] ours\n") == [
        "line 1: a task in a quotation is not imported",
        "line 1: text outside of tasks is not imported",
    ]


def test_a_task_without_text_is_reported() -> None:
    assert read("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n").plan == unnumbered_plan_of("a")
    assert "a task without text is not imported" in warning_texts("Do:\n- [ ] <!--tildone nonsense-->\n- [ ] a\n")


def test_unusual_line_breaks_do_not_split_a_task() -> None:
    """Nor its notes or its phase."""
    imported = read("## A\u2028B\n- [ ] a\rb\n  > n\u2029m\n")

    assert imported.plan == Plan((Phase("A⏎B", (Task("a⏎b", notes=("n⏎m",)),)),))


def test_an_exported_plan_is_imported_without_warnings() -> None:
    for plan in (plan for name, family in FAMILIES.items() for plan in plans(family, name, PLANS_EACH)):
        imported = read(lossless_checklist(plan))

        assert (imported.plan, imported.warnings) == (plan, ())


def test_an_exported_plan_among_prose_is_imported_exactly() -> None:
    names = ("ordinary words", "line breaks", "half surrogate pairs", "emoji and scripts")
    for plan in (plan for name in names for plan in plans(FAMILIES[name], name, PLANS_EACH)):
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
