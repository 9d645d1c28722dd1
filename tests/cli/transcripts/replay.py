"""Transcripts: what a person types and what is printed, as Markdown that a person reads and a test replays.

Each `console` block is typed in a new project with an empty home. After `$ ` stands a command. Its input may follow as
a here-document or come from a file; a command with a pipe, a list or another redirection is given to `sh`. Lines of
standard error are shown after `2> `, and the code of a command that fails as `[exit N]`. `$PWD` and `$HOME` are the
project and the home, and `$FILES` is this folder, which has the archives of fixed histories, a change a minute. What
may vary is matched as in `tests/project/blocks.py`: `...` is any lines, `[..]` any characters.

`python -m tests.cli.transcripts [FILE …]` rewrites the files (by default, all of them) with the current output.
"""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.person import Answer, Person, new_person
from tests.project.blocks import Reader

FOLDER = Path(__file__).parent
HERE_DOCUMENT = re.compile(r"(.*) <<END\n(.*\n|)END", re.DOTALL)
TRAILING = re.compile(r"[ \t]+$")
ASSIGNMENT = re.compile(r"\w+=")


def transcripts() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


@dataclass(frozen=True, slots=True)
class Typist(Reader):
    """Somebody who begins each block in a new project."""

    def outputs(self, commands: list[str]) -> list[str]:
        with TemporaryDirectory(dir=self.home) as folder:
            place = Path(os.path.realpath(folder))
            person = new_person(place, TZ="UTC")
            # A link, because the path of the checkout may have spaces.
            (place / "files").symlink_to(FOLDER)
            folders = {"$PWD": str(person.folder), "$HOME": str(person.home), "$FILES": str(place / "files")}
            return [_output(person, command, folders) for command in commands]


def _output(person: Person, command: str, folders: dict[str, str]) -> str:
    answer = _typed(person, _replaced(command, folders))
    lines = [*_shown(answer.out), *(f"2> {line}" for line in _shown(answer.err))]
    text = "\n".join([*lines, f"[exit {answer.code}]"] if answer.code else lines)
    return _replaced(text, {path: name for name, path in folders.items()})


def _shown(stream: str) -> list[str]:
    """The lines of a stream. Blanks at the end of a line, and an end without a line break, are made visible."""
    lines = [TRAILING.sub(lambda found: "␠" * len(found[0]), line) for line in stream.splitlines()]
    return lines if stream.endswith("\n") or not stream else [*lines, "[no line break]"]


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text


def _typed(person: Person, command: str) -> Answer:
    found = HERE_DOCUMENT.fullmatch(command)
    line, given = found.groups() if found else (command, "")
    source: str | bytes = given
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    environ = {}
    while ASSIGNMENT.match(words[0]):
        name, _, environ[name] = words.pop(0).partition("=")
    if words[-2:-1] == ["<"]:
        source = (person.folder / words.pop()).read_bytes()
        words.pop()
    if words[0] != "tildone" or any(re.fullmatch(r"[|&;<>()]+", word) for word in words):
        return person.shell(command)
    return person.run(*words[1:], given=source, **environ)
