"""Where an agent of a fleet is told that it works."""

from tildone.plan.dialects.prompts import place

FOUND = "the checkpoint refs/tildone/nightly-1/2"
TREE = f"You work in the current folder, a working tree of git, made from {FOUND}. It is on no branch; stay so."


def test_an_agent_outside_of_git_is_told_of_its_folder_only() -> None:
    assert place("", "the folder itself") == "You work in the current folder."


def test_an_agent_is_told_which_branch_its_files_become() -> None:
    assert place("tildone/nightly-1", FOUND) == (
        f"{TREE} What is there at the end is committed, and becomes the branch tildone/nightly-1."
    )


def test_agents_of_one_plan_are_told_how_to_get_what_the_others_have_done() -> None:
    told = place("tildone/nightly-1", FOUND, shared=True)

    assert told.startswith(f"{TREE} Other agents work on this plan, too")
    assert told.endswith("Before a task that builds on theirs, run: git merge tildone/nightly-1")
