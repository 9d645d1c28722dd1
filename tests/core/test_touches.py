"""Whether tasks may change the same files."""

import itertools
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.model import Rules, conflicting, globs_meet, in_the_way, may_conflict
from tildone.plan.ops import Mark, Numbered, Touch
from tildone.plan.reduce import Step, reduce

LETTERS = "ab"
WORDS = ["".join(word) for length in range(7) for word in itertools.product(LETTERS, repeat=length)]
small_globs = st.text(st.sampled_from("ab*?"), max_size=4)


@given(small_globs, small_globs)
def test_globs_meet_if_a_text_matches_both(one: str, other: str) -> None:
    """Two globs of at most 4 characters that meet do so in at most 6 letters: each star stands for 2 at most."""
    expected = any(fnmatchcase(word, one) and fnmatchcase(word, other) for word in WORDS)

    assert globs_meet(one, other) is expected
    assert globs_meet(other, one) is expected


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("[ab]", "b", True),
        ("[]]x", "]x", True),
        ("[", "[", True),
        ("[a", "b", False),
        ("a[!b]c", "abbc", False),
    ],
)
def test_a_set_stands_for_any_one_character(one: str, other: str, meet: bool) -> None:  # noqa: FBT001  of a table
    assert globs_meet(one, other) is meet


def test_a_folder_stands_for_everything_in_it() -> None:
    assert may_conflict(["src/"], ["src/a/b.py"])
    assert may_conflict(["src"], ["src/*.py"])
    assert not may_conflict(["src"], ["srcs/a.py", "docs"])
    assert not may_conflict([], ["src"])


def test_tasks_in_progress_that_may_change_the_same_files_conflict() -> None:
    steps: list[Step] = [
        Touch(Numbered((1, 2)), ("src/*",)),
        Touch(Numbered((3, 5)), ("src/a.py",)),
        Mark(Numbered((1, 5)), IN_PROGRESS),
        Mark(Numbered((2,)), COMPLETED),
    ]
    plan = reduce(plan_of("a", "b", "c", "d", "e"), steps, Rules()).after

    assert conflicting(plan, plan.tasks[2], [1, 2, 3]) == (1,)
    assert conflicting(plan, plan.tasks[2], [2, 3]) == ()
    assert conflicting(plan, plan.tasks[3], [1, 5]) == ()


def test_a_started_task_is_in_the_way_of_open_ones_that_may_change_the_same_files() -> None:
    plan = plan_of("parser", "names", "docs")
    steps: list[Step] = [Touch(Numbered((1, 2)), ("src/**",)), Mark(Numbered((1,)), IN_PROGRESS)]
    plan = reduce(plan, steps, Rules()).after
    parser, names, docs = plan.tasks

    assert (in_the_way(plan, parser), in_the_way(plan, names), in_the_way(plan, docs)) == ((), (1,), ())
    done = reduce(plan, [Mark(Numbered((2,)), COMPLETED)], Rules()).after
    assert in_the_way(done, done.tasks[1]) == ()
