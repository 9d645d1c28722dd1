"""`tildone help`: the help of every verb, generated from the tables that the parser reads."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.parsing.args import parse
from tildone.cli.parsing.table import Option, ParsedArgs, Verb, command
from tildone.dialects import DEFAULT_DIALECT, DIALECTS
from tildone.integrations import INTEGRATIONS, names_with_hooks
from tildone.kit.text import wrap_text
from tildone.stores import placeholders

COLUMNS = 100

PLACEHOLDERS = {
    "agents": ", ".join(INTEGRATIONS),
    "agents_with_hooks": ", ".join(names_with_hooks()),
    "default_dialect": DEFAULT_DIALECT,
    "dialects": ", ".join(DIALECTS),
    "stores": placeholders(),
    "tools": ", ".join(f"{', '.join(listing.tools)} ({name})" for name, listing in DIALECTS.entries.items()),
}
"""The `{names}` that descriptions and the help of options may contain.

They are replaced here and not in the tables, so that only the help imports the registries.
"""


def run(args: ParsedArgs) -> int:
    """Print the help of the verb that the arguments name, or that `--help` was given to."""
    path = args.path if args.has("help") else parse(args.path[0], [*args.positional, "--help"]).path
    put("\n".join(_lines(path)))
    return 0


def _lines(path: tuple[Verb, ...]) -> list[str]:
    verb = path[-1]
    lines = [f"{command(path)} {verb.arguments}".rstrip(), "", _summary(verb)]
    if verb.description:
        paragraphs = verb.description.format_map(PLACEHOLDERS).split("\n")
        lines += ["", *(line for paragraph in paragraphs for line in wrap_text(paragraph, COLUMNS))]
    width = max((len(_usage(each)) for each in verb.verbs), default=0)
    for group in verb.groups:
        rows = [(_usage(each), _summary(each)) for each in group.table.entries.values()]
        lines += ["", f"{group.title} verbs:".lstrip().capitalize(), *_table(rows, width)]
    # The verb's own help for an option replaces the program's.
    options = {option.name: option for option in (*verb.options, *path[0].options, *verb.options)}
    lines += [
        "",
        "Options:",
        *_table([_option_row(option) for option in options.values()]),
    ]
    return [*lines, "", "Examples:", *(f"  $ {example}" for example in verb.examples)]


def _usage(verb: Verb) -> str:
    return f"{verb.name} {verb.arguments}".rstrip()


def _summary(verb: Verb) -> str:
    return f"{verb.summary} Also: {', '.join(verb.aliases)}." if verb.aliases else verb.summary


def _option_row(option: Option) -> tuple[str, str]:
    return f"--{option.name} {option.metavar}".rstrip(), option.help.format_map(PLACEHOLDERS)


def _table(rows: list[tuple[str, str]], width: int = 0) -> list[str]:
    width = width or max(len(left) for left, _ in rows)
    lines = []
    for left, right in rows:
        first, *rest = wrap_text(right, COLUMNS - width - 4)
        lines += [f"  {left.ljust(width)}  {first}", *(f"{' ' * (width + 4)}{line}" for line in rest)]
    return lines
