"""Texts of a model's own list that name a task of the plan, and texts that do not."""

from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tildone.agents.hooks.task_texts import find_tasks, shares_most_words
from tildone.plan.model import Task

LONG = "Write the parser for the configuration files of all three formats"


def is_found(text: str, task: str, number: int = 7) -> bool:
    return find_tasks([text], [Task("Something else", number=1), Task(task, number=number)]) == [1]


SAME = (
    ("Wire it up", "Wire it up"),
    ("wire IT up", "Wire it up"),
    ("  Wire   it\tup ", "Wire it up"),
    ("Wire it up.", "Wire it up"),
    ("Wire it up", "Wire it up!"),
    ("Wire it up…", "Wire it up"),
    ("Fix `parse()`", "Fix parse()"),
    ("Fix the “old” parser’s tests", 'Fix the "old" parser\'s tests'),
    ("Straße – sperren", "STRASSE - sperren"),
    ("1. Wire it up", "Wire it up"),
    ("12) Wire it up", "Wire it up"),
    ("[3] Wire it up", "Wire it up"),
    ("(3) Wire it up.", "wire it up"),
    ("3: Wire it up", "Wire it up"),
    ("- [ ] Wire it up", "Wire it up"),
    ("Wire it up", "2. Wire it up"),
    ("1. Wire it up", "2. Wire it up"),
    ("#7 Wire it up", "Wire it up"),
    ("#7: Wire it up", "Wire it up"),
    ("7 Wire it up", "Wire it up"),
    (f"{LONG[:40]}…", LONG),
    (f"{LONG[:40]}...", LONG),
    (LONG, f"{LONG[:40]}…"),
)
DIFFERENT = (
    ("Wire it", "Wire it up"),
    ("Wire it up and test it", "Wire it up"),
    ("Write tests", "Write the tests"),
    ("Fix bug 1", "Fix bug 2"),
    ("Release 2.0", "Release 2"),
    ("C++", "C"),
    ("Ship it?", "Ship it"),
    ("3 retries for the client", "retries for the client"),
    ("#12 Fix the crash", "Fix the crash"),
    ("#12 Fix the crash", "#13 Fix the crash"),
    ("12:30 Meet Ada", "30 Meet Ada"),
    ("20240 Meet Ada", "Meet Ada"),
    ("Write the…", LONG),
    (f"{LONG[:40]}", LONG),
    (f"{LONG[:30]}else…", LONG),
    ("…", "Wire it up"),
    ("7", ""),
    ("1.", "2."),
)


def test_small_changes_of_a_text_do_not_matter_and_texts_that_differ_in_a_word_are_two_tasks() -> None:
    assert [pair for pair in SAME if not is_found(*pair)] == []
    assert [pair for pair in DIFFERENT if is_found(*pair)] == []


def test_a_task_without_a_number_is_not_found_by_one() -> None:
    """As in plans of earlier versions."""
    assert not is_found("0 Wire it up", "Wire it up", number=0)
    assert not is_found("Do wire it up", "Wire it up", number=0)


def test_a_text_that_can_name_several_tasks_names_none() -> None:
    tasks = [Task("1. Review"), Task("2. Review"), Task(f"{LONG} first"), Task(f"{LONG} second")]

    assert find_tasks(["Review", f"{LONG}…"], tasks) == [None, None]
    assert find_tasks(["3. Review", "4. Review"], [Task("Review")]) == [None, None]


def test_equal_texts_come_before_similar_ones_and_are_paired_in_order() -> None:
    tasks = [Task("review"), Task("Review"), Task("Review"), Task("Review.")]

    assert find_tasks(["Review", "Review", "REVIEW", "Review", "Review"], tasks) == [1, 2, 0, 3, None]


@given(st.lists(plans.tasks, max_size=6), st.lists(plans.tasks, max_size=6))
def test_no_task_is_named_twice_and_every_equal_text_is_found(one: list[Task], other: list[Task]) -> None:
    found = find_tasks([task.text for task in one], other)

    named = [index for index in found if index is not None]
    assert len(named) == len(set(named))
    for text in {task.text for task in one}:
        same = [i for i, task in enumerate(one) if task.text == text]
        equal = [j for j, task in enumerate(other) if task.text == text]
        assert len([i for i in same if found[i] in equal]) == min(len(same), len(equal))


def test_a_new_wording_shares_most_words() -> None:
    assert shares_most_words("Write the parser", "Write the parser with tests")
    assert shares_most_words("Write the parser", "Write the lexer")
    assert not shares_most_words("Write the parser", "Ship it")
    assert not shares_most_words("Parse", "Parsing")
    assert not shares_most_words("Fix it", "Fix that")
    assert not shares_most_words("", "")
