"""Checks, the order and the files of tasks in Markdown."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import plans
from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.base import replace
from tildone.plan.formats import markdown_reader as importer
from tildone.plan.formats import todotxt
from tildone.plan.formats.markdown import (
    Attributes,
    attribute_lines,
    lossless_checklist,
    portable_checklist,
    restore_attributes,
)
from tildone.plan.formats.markdown_reader import LineProblem, reader_read
from tildone.plan.model import Check, Phase, Plan, Rules, Task, flat, without_numbers
from tildone.plan.ops import Mark, Numbered, Order, Remove, SetCheck, Touch
from tildone.plan.reduce import Step, reduce

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
    plans.statuses,
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
    assert lossless_checklist(WHOLE) == TEXT
    assert reader_read(TEXT).plan == WHOLE
    assert reader_read(TEXT).problems == ()
    assert importer.read(TEXT).plan == WHOLE


def test_line_ends_of_windows_are_read_the_same() -> None:
    assert reader_read(TEXT.replace("\n", "\r\n")).plan == WHOLE
    assert reader_read(TEXT.replace("  (", "\t(").replace("  $", "\t$")).plan == WHOLE


@example(
    plan=replace(flat(Task("x", check=Check(("A=1", "b"))), Task("y"), Task("z")), check=Check(("=",))), escaped=False
)
@given(wild_plans, st.booleans())
def test_every_plan_is_restored_whatever_its_attributes_contain(plan: Plan, escaped: bool) -> None:  # noqa: FBT001  given
    parsed = reader_read(lossless_checklist(plan, escaped=escaped))

    assert (parsed.plan, parsed.problems) == (plan, ())


@given(st.lists(wild_texts, min_size=1, max_size=3), wild_texts)
def test_no_text_or_note_is_read_as_an_attribute(notes: list[str], text: str) -> None:
    plan = flat(Task(text, notes=tuple(notes)))

    for restored in (reader_read(lossless_checklist(plan)).plan, reader_read(portable_checklist(plan)).plan):
        assert restored.check is None
        assert all((task.check, task.after, task.touches) == (None, (), ()) for task in restored.tasks)


def test_the_portable_form_has_no_attributes() -> None:
    """Other tools could not read them."""
    assert "$" not in portable_checklist(flat(Task("x", check=TESTS, after=(1,), touches=("a",))))


def test_numbers_of_tasks_are_written_as_places_in_the_text() -> None:
    steps: list[Step] = [Order(Numbered((4,)), (1, 3)), Remove(Numbered((1, 2))), Touch(Numbered((3,)), ("a",))]
    plan = reduce(plan_of("a", "b", "c", "d"), steps, Rules()).after

    assert lossless_checklist(plan) == "- [ ] c\n  (touches a)\n- [ ] d\n  (after 1)\n"
    assert reader_read(lossless_checklist(plan)).plan == without_numbers(plan)


def test_an_edited_line_counts_more_than_the_comment_below_it() -> None:
    lines = attribute_lines(Attributes(Check(("make", "a\tb\x1b"))), lambda line: line.isprintable())

    assert lines[1].startswith("<!--tildone ")
    assert restore_attributes(lines).check == Check(("make", "a\tb\x1b"))
    assert restore_attributes(["$ tox", lines[1]]).check == Check(("tox",))


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
    assert reader_read(f"- [ ] a\n{lines}").problems == (problem,)


def test_only_options_of_a_check_can_come_before_all_tasks() -> None:
    assert reader_read("$ make\n(seconds 5)\n- [ ] a").plan.check == Check(("make",), seconds=5)
    assert reader_read("(after 1)\n- [ ] a").problems[0].line == 1
    assert reader_read("# A\n$ make\n- [ ] a").problems[0].line == 2


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
