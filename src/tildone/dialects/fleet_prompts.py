"""The words with which an agent of a fleet is started on a plan, and told to stop."""

from __future__ import annotations

ALONE = "Nobody reads along. End when every task is done, or say what you need a person for, and end."
TAKEN_OVER = (
    "Another agent began this work, and you take over. Look at what is there before you change anything: a command "
    "that it ran may have had an effect although its task is open."
)
BEGUN = "It had begun these tasks:"
WHY = "Why it does not go on:"
ANSWERS = "A person has answered these questions:"


def place(branch: str, found: str) -> str:
    """Say where the agent works: on a branch that was made from what was `found`, or outside of git."""
    if not branch:
        return "You work in the current folder."
    return (
        f"You work in the current folder, a working tree of git on the branch {branch}, made from {found}. Stay on "
        "this branch; it is committed and pushed for you at the end."
    )
