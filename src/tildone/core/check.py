"""Checks: commands that show that a task is done, and their proofs."""

from __future__ import annotations

from enum import Enum

from tildone.value import value

DEFAULT_SECONDS = 120

_TRIVIAL = frozenset({"true", ":", "echo", "printf", "exit", "sleep", "pwd", "date", "whoami", "yes"})
"""Commands that succeed whatever was done."""

_TRIVIAL_ALONE = frozenset({"cat", "env", "hostname", "id", "ls", "uname"})
"""Commands that do so without operands."""

_WRAPPERS = frozenset({"builtin", "command", "env", "exec", "nice", "nohup", "time", "timeout"})
"""Commands that run the one in their arguments."""

_FILTERS = frozenset({"cat", "head", "tail", "tee"})
"""Commands at the end of a pipe that succeed whatever comes out of it."""

_TRIVIAL_PYTHON = frozenset({"", "pass", "exit()", "exit(0)", "quit()", "0", "1", "None", "True"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_OPERATORS = ("&&", "||", ";", "|", "&", "\n", "(", ")", "{", "}")
_ENDS = frozenset({"", ";", "&", "\n"})
_KEYWORDS = frozenset(
    {"if", "for", "while", "until", "case", "select", "function", "set", "trap", "exec", "return", "kill", "exit", "!"}
)
"""Words after which the last command of a script does not alone decide how it ends."""


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
    """Return whether a command succeeds whatever was done: it is empty, or only prints, waits or returns.

    What cannot be known from the command alone counts as a check: `--version` may prove that a program is installed.
    """
    if not command or not command[0].strip():
        return True
    name, arguments = _base_name(command[0]), command[1:]
    operands = tuple(word for word in arguments if not word.startswith("-"))
    if name in _SHELLS and "-c" in _short_options(arguments):
        return _is_trivial_script(operands[0] if operands else "", stops="-e" in _short_options(arguments))
    if name in _WRAPPERS:
        inner = tuple(word for word in operands if "=" not in word)
        return proves_nothing(inner[1:] if name == "timeout" else inner)
    if name in ("test", "["):
        return _is_trivial_test(arguments[:-1] if arguments[-1:] == ("]",) else arguments)
    if name.startswith("python") and arguments[:1] == ("-c",):
        return all(part.strip() in _TRIVIAL_PYTHON for part in "".join(arguments[1:2]).replace(";", "\n").split("\n"))
    return name in _TRIVIAL or (name in _TRIVIAL_ALONE and operands in ((), ("/dev/null",)))


def _short_options(arguments: tuple[str, ...]) -> list[str]:
    """The single-letter options in front of the first argument: `-ec` is `-e` and `-c`."""
    options: list[str] = []
    for word in arguments:
        if not word.startswith("-"):
            break
        options += [f"-{letter}" for letter in word[1:]]
    return options


def _is_trivial_test(words: tuple[str, ...]) -> bool:
    """Return whether a test is of constants, and holds."""
    if any("$" in word or "`" in word for word in words):
        return False
    match words:
        case (word,) | ("-n", word):
            return word != ""
        case ("-z", word):
            return word == ""
        case (one, "=" | "==" | "-eq" | "-ge" | "-le", other):
            return one == other
        case _:
            return False


def _is_trivial_script(script: str, *, stops: bool) -> bool:
    """Return whether a script succeeds whatever its commands do. With `stops`, it ends at the first that fails."""
    parts = _parts(script)
    if all(proves_nothing(words) for words, _ in parts if words):
        return True
    if any(_base_name(word) in _KEYWORDS for words, _ in parts[:-1] for word in words[:1]):
        return False
    if any(operator in ("(", ")", "{", "}") for _, operator in parts):
        return False
    results, trivial, before, piped = list[bool](), True, "", False
    for words, operator in parts:
        if not words or operator == "|":
            # Without `pipefail`, only the last command of a pipe counts.
            piped = piped or operator == "|"
            continue
        own = _always_passes(words) or (piped and _base_name(words[0]) in _FILTERS)
        trivial = (own or trivial) if before == "||" else (own and trivial) if before == "&&" else own
        before, piped = operator, False
        if operator in _ENDS:
            results.append(trivial)
    return bool(results) and (all(results) if stops else results[-1])


def _always_passes(words: tuple[str, ...]) -> bool:
    return words[1:] == ("0",) if words[0] == "exit" else proves_nothing(words)


def _parts(script: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the commands of a script, each with the operator after it. Words are without their quotation marks."""
    parts: list[tuple[tuple[str, ...], str]] = []
    words, word, quote, at = list[str](), list[str](), "", 0
    while at < len(script):
        letter = script[at]
        operator = "" if quote else next((each for each in _OPERATORS if script.startswith(each, at)), "")
        at += 1
        if letter == quote or (letter in "'\"" and not quote):
            # An empty quotation is a word, too.
            quote = "" if quote else letter
            word.append("")
        elif letter == "\\" and quote != "'":
            word.append(script[at : at + 1])
            at += 1
        elif letter == "#" and not word and not quote:
            at = len(script) if script.find("\n", at) < 0 else script.find("\n", at)
        elif not quote and (operator or letter.isspace()) and not _is_redirection(script, at - 1):
            words += ["".join(word)] if word else []
            word = []
            if operator:
                parts.append((tuple(words), operator))
                words, at = [], at + len(operator) - 1
        else:
            word.append(letter)
    words += ["".join(word)] if word else []
    return [*parts, (tuple(words), "")]


def _is_redirection(script: str, at: int) -> bool:
    """Return whether there is the `&` of `2>&1` or `&>file`."""
    return script[at] == "&" and (script[at - 1 : at] == ">" or script[at + 1 : at + 2] == ">")


def _base_name(program: str) -> str:
    return program.strip().replace("\\", "/").rpartition("/")[2].removesuffix(".exe").lower()
