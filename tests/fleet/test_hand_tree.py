"""What a hand of a run waits for before a task: the files of the tasks before it, in a checkpoint that has them."""

from pathlib import Path

import pytest

from tests.fleet.repositories import git, project
from tildone.core.plan import Status, Task, flat
from tildone.fleet import hands as hand_tree
from tildone.fleet.hands import FilesMissing, HandTree
from tildone.log.events import Actor, Author, Event, Fact, PlanChanged
from tildone.log.fleet.facts import Kept

AFTER = Task("two", number=2, after=(1,))
OPEN = PlanChanged(flat(Task("one", number=1), AFTER))
DONE = PlanChanged(flat(Task("one", Status.COMPLETED, number=1), AFTER))


def log(*facts: Fact) -> list[Event]:
    author = Author(agent="shell:r/1")
    return [Event(f"e{number}", None, 0, Actor.AGENT, fact, author) for number, fact in enumerate(facts)]


@pytest.mark.parametrize(
    ("as_of", "is_there"), [("e0", False), ("e1", True), ("", True)], ids=["before", "after", "unknown"]
)
def test_a_task_waits_for_a_checkpoint_whose_files_were_read_after_the_task_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_of: str, *, is_there: bool
) -> None:
    """Another hand may complete a task while its worker keeps the files, which are those before the task then."""
    monkeypatch.setattr(hand_tree, "WAIT_SECONDS", 0.0)
    repo = project(tmp_path)
    kept = Kept("r", 1, 1, "refs/x", git(repo, "rev-parse", "HEAD"), as_of=as_of)

    tree = HandTree(str(repo), "r", "shell:r/0", lambda: log(OPEN, DONE, kept))

    if is_there:
        assert tree.begin(AFTER) == ""
    else:
        with pytest.raises(FilesMissing, match="the files of tasks before it are not in tildone/r yet"):
            tree.begin(AFTER)
