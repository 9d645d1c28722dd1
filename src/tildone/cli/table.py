"""The tables that describe verbs: what a verb takes is stated once, for the parser, the help and the documentation."""

from __future__ import annotations

from tildone.base import MAX_DIGITS, TYPE_CHECKING, UsageError, shortened, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.base import Registry

    Implementation = Callable[["ParsedArgs"], int]
    VerbTable = Registry[Implementation, "Verb"]

UNLIMITED = 1_000_000
SEVERAL_WORDS = ("…", "TASK", "ANSWER")
"""What takes any number of arguments. The text of a task and an answer need no quotes."""

MAX_PORT = 65_535


@value
class Option:
    """An option and the name of its value; a switch has an empty `metavar`."""

    name: str
    metavar: str
    help: str


@value
class Verb:
    """One row of a table of verbs.

    `usage` is the name and, as the help writes them, the positional arguments: those in brackets may be left out.
    `description`, like the help of an option, may contain placeholders, which `help` replaces.
    A verb with `groups` has verbs of its own; `default` names the one that is run when the command line names none.
    `for_text` names the one that is meant if the first word contains a space, as no name of a verb does.
    A `hidden` verb is for programs: it is in no help. `aliases` are other names of the verb. `unknown` is a hint for a
    word that names none of this verb's own verbs, or is no argument of it; `{}` is replaced by the word. With
    `takes_command`, everything behind `--` is a command, not arguments of the verb.
    """

    usage: str
    summary: str
    description: str = ""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    default: str = ""
    for_text: str = ""
    hidden: bool = False
    aliases: tuple[str, ...] = ()
    unknown: str = ""
    takes_command: bool = False

    @property
    def name(self) -> str:
        return self.usage.partition(" ")[0]

    @property
    def arguments(self) -> str:
        return self.usage.partition(" ")[2]

    @property
    def min_args(self) -> int:
        required = "".join(part.partition("[")[0] for part in self.arguments.split("]"))
        return len([word for word in required.split() if word != "…"])

    @property
    def max_args(self) -> int:
        is_unlimited = any(word in self.arguments for word in SEVERAL_WORDS)
        return UNLIMITED if is_unlimited else len(self.arguments.split())

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """This verb's own verbs, in the order of the help."""
        return tuple(verb for group in self.groups for verb in group.table.entries.values())

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(name for verb in self.verbs if not verb.hidden for name in (verb.name, *verb.aliases))

    def verb(self, name: str) -> Verb | None:
        wanted = name.lower()
        verbs = (verb for group in groups_for(self, wanted) for verb in group.table.entries.values())
        return next((verb for verb in verbs if verb.name == wanted or wanted in verb.aliases), None)


@value
class Group:
    """Verbs that the help lists under one title. Each key of `table` names what implements the verb: see `Registry`.

    The table may be in a package that is imported when it is first needed. `words` are those of its verbs, so that the
    packages of other verbs are not.
    """

    title: str
    load: Callable[[], VerbTable]
    words: tuple[str, ...] = ()

    @property
    def table(self) -> VerbTable:
        return self.load()


@value
class ParsedArgs:
    """A parsed command line: the verbs from the program down, the positional arguments, the options.

    `options` has the last value of an option that was given several times; `values` returns all of them. `command` is
    what follows `--`, if the verb takes a command.
    """

    path: tuple[Verb, ...]
    positional: tuple[str, ...]
    options: dict[str, str]
    occurrences: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()

    @property
    def verb(self) -> Verb:
        return self.path[-1]

    def has(self, option: str) -> bool:
        return option in self.options

    def values(self, option: str) -> tuple[str, ...]:
        return tuple(given for name, given in self.occurrences if name == option)

    def port(self) -> int | None:
        """The port to listen on, if one was given; 0 means any free one."""
        given = self.options.get("port")
        if given is None:
            return None
        if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) > MAX_PORT:
            raise UsageError(f"--port requires a number from 0 to {MAX_PORT}, not {shortened(given)!r}")
        return int(given)

    def positive_int(self, option: str, default: int, most: int | None = None) -> int:
        """The value of an option that takes a positive integer, which may be limited."""
        given = self.options.get(option)
        if given is None:
            return default
        if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) == 0:
            raise UsageError(f"--{option} requires a positive number, not {shortened(given)!r}")
        if most is not None and int(given) > most:
            raise UsageError(f"--{option} is 1 to {most}, not {int(given)}")
        return int(given)


def command(path: Sequence[Verb]) -> str:
    """The words that a person types for a verb: `tildone todo add`."""
    return " ".join(verb.name for verb in path)


def groups_for(verb: Verb, word: str) -> list[Group]:
    """The groups of a verb's own verbs, those first that list the word."""
    return sorted(verb.groups, key=lambda group: word not in group.words)


def implementation(path: tuple[Verb, ...]) -> Implementation:
    """Import the function that implements the verb at the end of `path`."""
    verb = path[-1]
    parent, name = (verb, verb.default) if verb.default else (path[-2], verb.name)
    rows = ((group.table, module) for group in groups_for(parent, name) for module in group.table)
    table, module = next((table, module) for table, module in rows if table.entries[module].name == name)
    return table[module]


SESSION = Option(
    "session", "NAME", "The session to use, by name or title; default: $TILDONE_SESSION, else the project's."
)
STORE = Option("store", "STORE", "{stores}; default: $TILDONE_STORE, else your own file.")
DIALECT = Option("dialect", "NAME", "{dialects}; default: $TILDONE_DIALECT, else the session's own.")
FORCE = Option("force", "", "Do it without this check.")
JSON = Option("json", "", "Print JSON.")
DRY_RUN = Option("dry-run", "", "Show what would change; change nothing.")
