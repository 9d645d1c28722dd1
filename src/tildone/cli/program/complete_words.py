"""`tildone complete-words`: what the completion scripts of shells call at every press of the Tab key.

The first line of the output is `files` if file names are candidates too, else `none`. Each following line is a
candidate: for bash, the text to insert; for zsh and fish, the text, a tab and its meaning. Candidates are texts of
agents as well: no line contains a control character, and what bash inserts is quoted.

A store or a setting that cannot be read is not reported, and the exit code is 0: the person is typing.
"""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.program.bash_line import split_line
from tildone.cli.program.candidates import Completions, completions
from tildone.errors import TildoneError
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.cli.parsing.table import ParsedArgs, Verb

LISTING = "63"
"""The `COMP_TYPE` of bash when it lists the candidates and inserts nothing."""

MAX_MEANING_CHARACTERS = 60
MAX_NAME_COLUMNS = 24


def run(args: ParsedArgs) -> int:
    """Print the candidates for the last word of a command line."""
    shell, *words = args.positional
    try:
        lines = _bash_lines(args.path[0], words) if shell == "bash" else _described_lines(args.path[0], words)
    except (TildoneError, OSError, ValueError):
        lines = ["none"]
    put("\n".join(lines))
    return 0


def _described_lines(root: Verb, words: list[str]) -> list[str]:
    """The candidates for zsh and fish, which quote what they insert; an opening quotation mark is not part of it."""
    *before, current = words or [""]
    found = completions(root, [*before, current.lstrip("'\"")])
    return [_kind(found), *(f"{each.text}\t{_meaning(each.meaning)}" for each in found.candidates)]


def _bash_lines(root: Verb, words: list[str]) -> list[str]:
    """The candidates for bash: `words` are the line up to the cursor, the word breaks, and the kind of completion."""
    text, breaks, kind = (*words, "", "")[:3]
    line = split_line(text, breaks)
    found = completions(root, line.words[1:])
    candidates = [(line.insertion(each.text), each.meaning) for each in found.candidates]
    usable = [(insertion, meaning) for insertion, meaning in candidates if insertion]
    if found.files and not line.words[-1]:
        # bash completes file names only if there are no other candidates.
        return ["files"]
    if kind == LISTING and len(usable) > 1:
        width = min(MAX_NAME_COLUMNS, max(len(insertion) for insertion, _ in usable))
        return [_kind(found), *(f"{name.ljust(width)}  {_meaning(meaning)}".rstrip() for name, meaning in usable)]
    return [_kind(found), *(insertion for insertion, _ in usable)]


def _kind(found: Completions) -> str:
    return "files" if found.files else "none"


def _meaning(text: str) -> str:
    line = printable(text.partition("\n")[0])
    return line if len(line) <= MAX_MEANING_CHARACTERS else f"{line[: MAX_MEANING_CHARACTERS - 1]}…"
