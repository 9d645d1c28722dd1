"""The manual page, generated from the tables that the parser reads. `man tildone` shows it after an installation."""

from __future__ import annotations

from tildone.cli.parsing.table import Option, Verb, command
from tildone.cli.program.exit_codes import EXIT_CODES
from tildone.cli.program.help_texts import filled, summary_of
from tildone.typing import TYPE_CHECKING
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    yield f".SS {_text(f'{command(path)} {verb.arguments}'.rstrip())}"
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
    yield from _definitions((f"--{option.name} {option.metavar}".rstrip(), filled(option.help)) for option in options)


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
