"""`tildone help`: the help of every verb, generated from the tables that the parser reads."""

from __future__ import annotations

from tildone.cli.output.screen import put, width_of_text
from tildone.cli.parsing.args import parse
from tildone.cli.parsing.table import Option, ParsedArgs, Verb, command
from tildone.cli.program.exit_codes import EXIT_CODES
from tildone.cli.program.help_texts import filled, summary_of
from tildone.errors import UsageError
from tildone.kit.text import wrap_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_COLUMNS = 100
MIN_COLUMNS = 20
MIN_EXPLANATION_COLUMNS = 32
"""If less is left beside the names of a table, explanations go below the names."""

UNLIMITED_COLUMNS = 1_000_000
EXIT_CODES_TOPIC = "exit-codes"


def run(args: ParsedArgs) -> int:
    """Print the help of the verb that the arguments name, or that `--help` was given to."""
    given = width_of_text()
    layout = HelpLayout(given)
    if args.has("man"):
        # Late, because hardly anybody prints it.
        from tildone.cli.program.man import manual_page  # noqa: PLC0415  see above

        if args.positional:
            raise UsageError("the manual page covers every verb: tildone help --man")
        put(manual_page(args.path[0]).removesuffix("\n"))
    elif args.positional == (EXIT_CODES_TOPIC,):
        put("\n".join(["Exit codes:", *layout.table([(str(code), meaning) for code, meaning in EXIT_CODES])]))
    else:
        path = args.path if args.has("help") else parse(args.path[0], [*args.positional, "--help"]).path
        put("\n".join(layout.help_lines(path)))
    return 0


def options_of(path: tuple[Verb, ...]) -> Iterable[Option]:
    """The options of a verb, then the program's. The verb's own help for an option replaces the program's."""
    verb = path[-1]
    return {option.name: option for option in (*verb.options, *path[0].options, *verb.options)}.values()


class HelpLayout:
    """Lays help texts out for a terminal of a given width; None is a pipe or a file."""

    def __init__(self, columns: int | None) -> None:
        self._columns = max(MIN_COLUMNS, min(columns or MAX_COLUMNS, MAX_COLUMNS))
        # In a pipe, examples stay on one line, to be copied or searched for.
        self._example_columns = UNLIMITED_COLUMNS if columns is None else max(MIN_COLUMNS, columns)

    def help_lines(self, path: tuple[Verb, ...]) -> list[str]:
        """The help of the verb at the end of `path`."""
        verb = path[-1]
        lines = [*self._wrapped(f"{command(path)} {verb.arguments}".rstrip()), "", *self._wrapped(summary_of(verb))]
        if verb.description:
            lines += ["", *self._wrapped(filled(verb.description))]
        width = max((len(_usage(each)) for each in verb.verbs if not each.hidden), default=0)
        for group in verb.groups:
            rows = [(_usage(each), summary_of(each)) for each in group.table.entries.values() if not each.hidden]
            lines += ["", f"{group.title} verbs:".lstrip().capitalize(), *self.table(rows, width)]
        lines += ["", "Options:", *self.table([_option_row(option) for option in options_of(path)])]
        examples = [line for example in verb.examples for line in self._example(example)]
        more = [] if len(path) > 1 else ["", *self._wrapped("Exit codes: tildone help exit-codes")]
        return [*lines, "", "Examples:", *examples, *more]

    def table(self, rows: list[tuple[str, str]], width: int = 0) -> list[str]:
        """Names and explanations: beside each other, or one above the other if there is little room."""
        width = width or max(len(left) for left, _ in rows)
        lines = []
        room = self._columns - width - 4
        if room < MIN_EXPLANATION_COLUMNS:
            for left, right in rows:
                lines += [f"  {line}" for line in wrap_text(left, self._columns - 2)]
                lines += [f"      {line}" for line in wrap_text(right, self._columns - 6)]
            return lines
        for left, right in rows:
            first, *rest = wrap_text(right, room)
            lines += [f"  {left.ljust(width)}  {first}", *(f"{' ' * (width + 4)}{line}" for line in rest)]
        return lines

    def _wrapped(self, text: str) -> list[str]:
        return [line for paragraph in text.split("\n") for line in wrap_text(paragraph, self._columns)]

    def _example(self, example: str) -> list[str]:
        """A command, continued on further lines with backslashes where it is too long; quoted words stay whole."""
        lines = ["  $"]
        for word in _shell_words(example):
            if len(lines[-1]) + len(word) + 3 > self._example_columns and lines[-1].strip() != "$":
                lines[-1] += " \\"
                lines.append("   ")
            lines[-1] += f" {word}"
        return lines


def _shell_words(line: str) -> list[str]:
    """The words of a shell command as they are written, with their quotes."""
    words, quote = [""], ""
    for char in line:
        if char == " " and not quote:
            words.append("")
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        words[-1] += char
    return words


def _usage(verb: Verb) -> str:
    return f"{verb.name} {verb.arguments}".rstrip()


def _option_row(option: Option) -> tuple[str, str]:
    return f"--{option.name} {option.metavar}".rstrip(), filled(option.help)
