"""Checks: commands that show that a task is done, and their proofs."""

from __future__ import annotations

from enum import Enum

from tildone.value import value

DEFAULT_SECONDS = 120

_TRIVIAL = frozenset({"true", ":", "echo", "printf", "exit", "sleep", "pwd", "date", "whoami", "yes"})
"""Commands that succeed whatever was done."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_SEPARATORS = ("&&", "||", ";", "|", "&", "\n")


@value
class Check:
    """A command that succeeds if a task, or a whole plan, is done.

    `command` is the program and its arguments, which no shell interprets. `folder` is relative to the plan's working
    tree. The command fails to decide if it takes longer than `seconds`; one that fails is run `retries` more times.
    `watches` are globs of the files that the result depends on; without any, all tracked files count. `by_model` means
    that a model wrote it; checks that differ in nothing else are equal.
    """

    command: tuple[str, ...]
    folder: str = ""
    seconds: int = DEFAULT_SECONDS
    retries: int = 0
    watches: tuple[str, ...] = ()
    by_model: bool = False

    __uncompared__ = ("by_model",)


class Result(Enum):
    """How a check ended. `blocks` means that only a person can help, so that the task waits."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"

    @property
    def blocks(self) -> bool:
        """Whether the task waits for a person after this result."""
        return self in (Result.INCONCLUSIVE, Result.REFUSED)


@value
class Proof:
    """The result of running a check.

    `files` is a digest of the watched files that are tracked, `all_files` one of those that are not ignored. `reason`
    says in words what happened if the check did not pass. `output` is the path of the whole output; `by` is who ran it.
    `tail` is the end of the output, for whoever ran the check: it is not recorded. `program` is the path of the program
    that ran, and `program_sha256` the digest of it. `imported` means that it came from
    a file, so that it is stale until the check is run here. Two proofs are equal if they say the same of the same files
    by the same program.
    """

    result: Result
    command: tuple[str, ...]
    files: str = ""
    all_files: str = ""
    exit_code: int | None = None
    reason: str = ""
    milliseconds: int = 0
    at: int = 0
    by: str = ""
    output: str = ""
    tail: str = ""
    program: str = ""
    program_sha256: str = ""
    imported: bool = False

    __uncompared__ = ("milliseconds", "at", "by", "output", "tail")


def is_passed(check: Check, proof: Proof | None) -> bool:
    """Return whether the check has passed, whatever has changed since."""
    return proof is not None and proof.result is Result.PASSED and proof.command == check.command


def leaves_tree(folder: str) -> bool:
    """Return whether the name of a folder leads out of the working tree. Symbolic links are another matter."""
    parts = folder.replace("\\", "/").split("/")
    return parts[0].startswith("~") or parts[0][1:2] == ":" or (folder != "" and parts[0] == "") or ".." in parts


def proves_nothing(command: tuple[str, ...]) -> bool:
    """Return whether a command succeeds whatever was done: it is empty, or only prints, waits or returns."""
    if not command or not command[0].strip():
        return True
    name, arguments = _base_name(command[0]), command[1:]
    if name == "env":
        return proves_nothing(tuple(word for word in arguments if "=" not in word))
    if name in _SHELLS and "-c" in _short_options(arguments):
        script = next((word for word in arguments if not word.startswith("-")), "")
        return _is_trivial_script(script)
    return name in _TRIVIAL


def _short_options(arguments: tuple[str, ...]) -> list[str]:
    """The single-letter options in front of the first argument: `-ec` is `-e` and `-c`."""
    options: list[str] = []
    for word in arguments:
        if not word.startswith("-"):
            break
        options += [f"-{letter}" for letter in word[1:]]
    return options


def _is_trivial_script(script: str) -> bool:
    for separator in _SEPARATORS:
        script = script.replace(separator, "\n")
    lines = (line.strip().strip("(){} ") for line in script.split("\n"))
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return all(proves_nothing(tuple(line)) for line in words)


def _base_name(program: str) -> str:
    return program.strip().replace("\\", "/").rpartition("/")[2].removesuffix(".exe").lower()
