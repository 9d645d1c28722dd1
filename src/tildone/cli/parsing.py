"""The parser of command lines: it reads `argv` according to the tables of verbs."""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING, Registry, UsageError, nearest, shortened
from tildone.cli import output as screen
from tildone.cli.table import DIALECT, SESSION, STORE, Group, Option, ParsedArgs, Verb, command, implementation
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.cli.table import VerbTable


SHORT = {"-h": "--help", "-V": "--version"}
"""The short options, which every verb takes."""


def parse(root: Verb, argv: Sequence[str]) -> ParsedArgs:
    """Parse `argv`. The root's options may be anywhere; the options of a verb follow the verb."""
    for arg in argv:
        _check_characters(arg)
    path, positional, occurrences = [root], list[str](), list[tuple[str, str]]()
    pending = iter(argv)
    program: tuple[str, ...] = ()
    options_ended = False
    for arg in pending:
        if options_ended or not _is_option(arg):
            _add_word(path, positional, arg)
        elif arg == "--" and path[-1].takes_command:
            program = tuple(pending)
        elif arg == "--":
            options_ended = True
        else:
            occurrences.append(_option(path, arg, pending))
    args = ParsedArgs(tuple(path), tuple(positional), dict(occurrences), tuple(occurrences), program)
    if not args.has("help") and not args.has("version"):
        _check(args)
    return args


def _check_characters(arg: str) -> None:
    """Check that an operating system could have passed the argument: a calling program may pass any text."""
    try:
        os.fsencode(arg)
    except UnicodeEncodeError as error:
        raise UsageError(f"no command line contains half of a character: {shortened(arg)!r}") from error
    if "\0" in arg:
        raise UsageError(f"no command line contains the character NUL: {shortened(arg)!r}")


def _is_option(arg: str) -> bool:
    """Whether `arg` is an option. A lone dash is standard input; a word with a space in it is text."""
    return arg.startswith("-") and arg != "-" and " " not in arg.partition("=")[0]


def _add_word(path: list[Verb], positional: list[str], arg: str) -> None:
    """Add a word to the path if it must be a verb, to the positional arguments otherwise."""
    parent = path[-1]
    if positional or not parent.groups:
        positional.append(arg)
        return
    verb = parent.verb(arg)
    if verb is None and " " in arg and (meant := parent.verb(parent.for_text)):
        path.append(meant)
        positional.append(arg)
        return
    if verb is None:
        # Late, because only this error needs it.
        from tildone.cli.suggestions import verb_hint

        raise UsageError(f"{command(path)} has no verb {arg!r}; {verb_hint(path, arg)}{_unknown(parent, arg)}")
    path.append(verb)


def _option(path: list[Verb], arg: str, pending: Iterator[str]) -> tuple[str, str]:
    """The name and the value of the option `arg`; the value may be the next word of `pending`."""
    name, equals, given = arg.partition("=")
    known = {f"--{option.name}": option for option in (*path[0].options, *path[-1].options)}
    option = known.get(SHORT.get(name, name))
    if option is None:
        raise UsageError(
            f"{command(path)} has no option {name}; {nearest(name, tuple(known), f'see {command(path)} --help')}"
        )
    if not option.metavar:
        if equals:
            raise UsageError(f"{name} takes no value")
        return option.name, ""
    text = given if equals else next(pending, "")
    if not text:
        raise UsageError(f"{name} requires a value: {name} {option.metavar}")
    return option.name, text


def _check(args: ParsedArgs) -> None:
    """Check that the verb takes every option, also those that precede it (`todo --open done`), and so many words."""
    verb, count, name = args.verb, len(args.positional), command(args.path)
    known = {option.name for option in (*args.path[0].options, *verb.options)}
    for option in args.options:
        if option not in known:
            raise UsageError(f"{name} has no option --{option}; see {name} --help")
    if count < verb.min_args:
        raise UsageError(f"{name} requires {verb.arguments}; see {name} --help")
    if count > verb.max_args:
        word = args.positional[verb.max_args]
        raise UsageError(f"{name} takes no argument {word!r}; see {name} --help{_unknown(verb, word)}")


def _unknown(verb: Verb, word: str) -> str:
    """Return the hint of a verb for a word that is not one of its own."""
    # Late, because only errors need it.
    import shlex

    return f" ({verb.unknown.format(shlex.quote(word))})" if verb.unknown else ""


TABLES: Registry[VerbTable, tuple[str, str]] = Registry(
    "tildone.cli",
    "VERBS",
    {
        "plan": ("plan", "todo verify approve call"),
        "history": ("history", "log stats diff blame undo redo checkout branch label"),
        "agents": (
            "agent",
            "run extensions install uninstall mcp hook pause resume stop answer share status watch board",
        ),
        "fleet": ("fleet", "fleet"),
        "transfer": ("transfer", "import export"),
        "maintenance": ("maintenance", "sessions doctor trust backup restore prune migrate"),
        "program": ("other", "help completion complete-words overview"),
    },
)
"""The packages of verbs: the title of each in the help, and its verbs. A command imports only its own package."""


def _group(package: str) -> Group:
    title, words = TABLES.entries[package]
    return Group(title, lambda: TABLES[package], tuple(words.split()))


ROOT = Verb(
    "tildone [VERB …]",
    "The plan your agents actually finish.",
    description=(
        "A session is an agent's plan and its history. Each project (a git repository, or else the working folder) "
        "has its own session, named by its path. Without a verb, shows where this project stands."
    ),
    options=(
        SESSION,
        STORE,
        DIALECT,
        Option("help", "", "Show this help (short: -h)."),
        Option("version", "", "Show the version (short: -V)."),
    ),
    examples=('tildone todo add "Write the parser"', "tildone todo", "tildone log"),
    groups=tuple(map(_group, TABLES)),
    default="overview",
)


def run_verb(argv: Sequence[str]) -> int:
    screen.prepare()
    args = parse(ROOT, argv)
    if args.has("help"):
        return TABLES["program"]["help"](args)
    if args.has("version"):
        screen.put(f"tildone {__version__}")
        return 0
    return implementation(args.path)(args)
