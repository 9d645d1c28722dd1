"""`tildone help`: the help of every verb, generated from the tables that the parser reads."""

from __future__ import annotations

from tildone.agents.integrations import INTEGRATIONS, names_with_hooks
from tildone.base import TYPE_CHECKING, NotFound, Refused, RunFenced, StoreError, TildoneError, UsageError
from tildone.cli import INTERRUPTED, PIPE_BROKEN
from tildone.cli.output import UNLIMITED_COLUMNS, put, width_of_text
from tildone.cli.parsing import parse
from tildone.cli.table import Option, ParsedArgs, Verb
from tildone.plan.dialects import DEFAULT_DIALECT, DIALECTS
from tildone.plan.model import Status
from tildone.plan.text.styles import wrap_text
from tildone.stores import placeholders
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


EXIT_CODES = (
    (0, "Success. A hook ends so after an error, too, so that it never holds an agent up."),
    (TildoneError.exit_code, "A failure: a file cannot be read or written, a run did not finish its plan."),
    (UsageError.exit_code, "The command line or a setting is invalid."),
    (Refused.exit_code, "The request cannot be applied to this plan, and nothing changed; or a check did not pass."),
    (NotFound.exit_code, "The named task, phase, event, file or store does not exist."),
    (StoreError.exit_code, "The store failed, or tildone doctor found an error."),
    (RunFenced.exit_code, "The run of a fleet that this process works for has passed to another worker, or has ended."),
    (INTERRUPTED, "Interrupted with Ctrl-C."),
    (PIPE_BROKEN, "The reader of standard output ended early."),
)
"""Each exit code with its meaning. `tildone.base` states the codes of errors."""


PLACEHOLDERS = {
    "agents": ", ".join(INTEGRATIONS),
    "agents_with_hooks": ", ".join(names_with_hooks()),
    "default_dialect": DEFAULT_DIALECT,
    "dialects": ", ".join(DIALECTS),
    "statuses": ", ".join(status.value for status in Status),
    "stores": placeholders(),
    "tools": ", ".join(f"{', '.join(listing.tools)} ({name})" for name, listing in DIALECTS.entries.items()),
}


def summary_of(verb: Verb) -> str:
    """The summary of a verb, with its other names."""
    return f"{verb.summary} Also: {', '.join(verb.aliases)}." if verb.aliases else verb.summary


def filled(text: str) -> str:
    return text.format_map(PLACEHOLDERS)


MAX_COLUMNS = 100
MIN_COLUMNS = 20
MIN_EXPLANATION_COLUMNS = 32
"""If less is left beside the names of a table, explanations go below the names."""

EXIT_CODES_TOPIC = "exit-codes"


def run(args: ParsedArgs) -> int:
    given = width_of_text()
    layout = HelpLayout(given)
    if args.has("man"):
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
        lines = [
            *self._wrapped(" ".join([*(each.name for each in path[:-1]), verb.usage])),
            "",
            *self._wrapped(summary_of(verb)),
        ]
        if verb.description:
            lines += ["", *self._wrapped(filled(verb.description))]
        width = max((len(each.usage) for each in verb.verbs if not each.hidden), default=0)
        for group in verb.groups:
            rows = [(each.usage, summary_of(each)) for each in group.table.entries.values() if not each.hidden]
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


def _option_row(option: Option) -> tuple[str, str]:
    return f"--{option.name} {option.metavar}".rstrip(), filled(option.help)


ENVIRONMENT = (
    ("TILDONE_STORE", "The store to use, as --store names it."),
    ("TILDONE_SESSION", "The session to use, as --session names it."),
    ("TILDONE_DIALECT", "The dialect whose rules apply to changes."),
    ("TILDONE_MODEL", "The model of tildone run."),
    ("XDG_DATA_HOME", "The folder of the default store is tildone in this folder; default: ~/.local/share."),
    ("XDG_CONFIG_HOME", "The folder of the settings is tildone in this folder; default: ~/.config."),
    ("NO_COLOR", "If set, output has no colours."),
)
FILES = (
    ("~/.local/share/tildone/tildone.db", "The default store, with the plans of all your projects."),
    ("~/.config/tildone/config.toml", "Your settings."),
    ("tildone.toml", "The settings of a project, in its root folder."),
)


def manual_page(root: Verb) -> str:
    """The manual page in roff, with the macros of man(7)."""
    return "\n".join(_lines(root)) + "\n"


def _lines(root: Verb) -> Iterator[str]:
    yield f'.TH TILDONE 1 "" "tildone {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"tildone \\- {_text('a durable todo plan for AI coding agents')}"
    yield ".SH SYNOPSIS"
    yield ".B tildone"
    yield _text("[VERB …] [OPTION …]")
    yield ".SH DESCRIPTION"
    yield _text(root.summary)
    yield from _paragraphs(root.description)
    for group in root.groups:
        yield f".SH {group.title.upper()} VERBS"
        for verb in group.table.entries.values():
            yield from _verb((root, verb))
    yield ".SH OPTIONS"
    yield from _options(root.options)
    yield ".SH EXIT STATUS"
    yield from _definitions((str(code), meaning) for code, meaning in EXIT_CODES)
    yield ".SH ENVIRONMENT"
    yield from _definitions(ENVIRONMENT)
    yield ".SH FILES"
    yield from _definitions(FILES)
    yield ".SH EXAMPLES"
    yield from _examples(root.examples)


def _verb(path: tuple[Verb, ...]) -> Iterator[str]:
    """A verb and, after it, its own verbs."""
    verb = path[-1]
    if verb.hidden:
        return
    yield f".SS {_text(' '.join([*(each.name for each in path[:-1]), verb.usage]))}"
    yield _text(summary_of(verb))
    yield from _paragraphs(verb.description)
    yield from _options(verb.options)
    yield from _examples(verb.examples)
    for each in verb.verbs:
        yield from _verb((*path, each))


def _paragraphs(description: str) -> Iterator[str]:
    for paragraph in filled(description).split("\n") if description else ():
        yield ".PP"
        yield _text(paragraph)


def _options(options: Iterable[Option]) -> Iterator[str]:
    yield from _definitions(map(_option_row, options))


def _definitions(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in rows:
        yield ".TP"
        yield f".B {_text(name)}"
        yield _text(meaning)


def _examples(examples: tuple[str, ...]) -> Iterator[str]:
    yield ".PP"
    yield ".nf"
    yield from (f"    {_text(example)}" for example in examples)
    yield ".fi"


def _text(text: str) -> str:
    """Text with the characters escaped that roff would interpret; a leading period or quote would be a request."""
    escaped = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    escaped = escaped.replace("~", "\\(ti").replace('"', "\\(dq").replace("…", "...")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
