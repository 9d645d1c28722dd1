"""A person in a git repository with a plan, for the tests of checks."""

import subprocess
from pathlib import Path

from tests.cli.person import Person

AGENT = {"CLAUDE_CODE_SESSION_ID": "c-1"}
"""The environment of a command that a model runs."""


def with_repository(person: Person) -> Person:
    """Make the person's project a git repository with one file, `answer`, that says 0."""
    (person.folder / ".git").rmdir()
    answer(person, 0)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=person.folder, check=True)
    person.says("todo", "add", "The answer is 42", "Ship it")
    return person


def answer(person: Person, number: int) -> None:
    """Write the file that the check looks at."""
    (person.folder / "answer").write_text(f"{number}\n", encoding="utf-8")


def tasks(person: Person) -> dict[int, dict[str, object]]:
    """The tasks of the plan as JSON, by number."""
    return {task["number"]: task for task in person.run("todo", "--json").json["tasks"]}


def statuses(person: Person) -> list[object]:
    return [task["status"] for task in tasks(person).values()]


def script(folder: Path, text: str) -> str:
    """Write a script for `sh`, and return its name."""
    (folder / "check.sh").write_text(text, encoding="utf-8")
    return "check.sh"
