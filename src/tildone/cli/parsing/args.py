"""Words on a command line, read by a table: what a verb takes is written down once, for parsing and for help."""

from __future__ import annotations

from tildone.config import nearest
from tildone.errors import UsageError
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MANY = 1_000_000


@value
class Option:
    """An option, with the name of its value; a switch has none."""

    name: str
    takes: str
    means: str


@value
class Verb:
    """A verb: what may follow it, what it does, and the function that does it (`module.function`).

    `words` is how the help writes what follows; `least` and `most` are how many words that may be. A verb that
    has verbs of its own does `run` when none of them is named.
    """

    name: str
    words: str
    summary: str
    run: str = ""
    least: int = 0
    most: int = 0
    about: str = ""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()

    def verb(self, name: str) -> Verb | None:
        """The verb of that name among this one's own, in whatever case."""
        return next((verb for verb in self.verbs if verb.name == name.lower()), None)


@value
class Typed:
    """What was typed: the verbs from the program's name down, the words after them, the options.

    Of an option that was given several times `options` has the last; `each` has all of them.
    """

    path: tuple[Verb, ...]
    words: tuple[str, ...]
    options: dict[str, str]
    given: tuple[tuple[str, str], ...] = ()

    @property
    def verb(self) -> Verb:
        """The verb to carry out."""
        return self.path[-1]

    def has(self, switch: str) -> bool:
        """Whether a switch was given."""
        return switch in self.options

    def each(self, option: str) -> tuple[str, ...]:
        """Every value that was given for an option, in order."""
        return tuple(value_given for name, value_given in self.given if name == option)

    def number(self, option: str, otherwise: int) -> int:
        """The value of an option that is a number above 0.

        Raises:
            UsageError: it is none.
        """
        given = self.options.get(option)
        if given is None:
            return otherwise
        if not given.isdecimal() or int(given) == 0:
            raise UsageError(f"--{option} takes a number above 0, not {given!r}")
        return int(given)


def parse(root: Verb, argv: Sequence[str]) -> Typed:
    """What `argv` says. The root's options may stand anywhere; a verb's own, after the verb.

    Raises:
        UsageError: it says nothing that can be done.
    """
    path, words, given = [root], list[str](), list[tuple[str, str]]()
    pending = iter(argv)
    literal = False
    for arg in pending:
        if literal or not _is_option(arg):
            _take(path, words, arg)
        elif arg == "--":
            literal = True
        else:
            given.append(_option(path, arg, pending))
    typed = Typed(tuple(path), tuple(words), dict(given), tuple(given))
    if not typed.has("help"):
        _count(typed)
    return typed


def _is_option(arg: str) -> bool:
    """A lone dash stands for standard input; and text with a space in it is text, however it begins."""
    return arg.startswith("-") and arg != "-" and " " not in arg.partition("=")[0]


def _take(path: list[Verb], words: list[str], arg: str) -> None:
    above = path[-1]
    if words or not above.verbs:
        words.append(arg)
        return
    verb = above.verb(arg)
    if verb is None:
        known = tuple(verb.name for verb in above.verbs)
        raise UsageError(f"there is no verb {arg!r} in {called(path)}; {nearest(arg.lower(), known)}")
    path.append(verb)


def _option(path: list[Verb], arg: str, pending: Iterator[str]) -> tuple[str, str]:
    name, equals, given = arg.partition("=")
    known = {f"--{option.name}": option for option in (*path[0].options, *path[-1].options)}
    option = known["--help"] if name == "-h" else known.get(name)
    if option is None:
        raise UsageError(f"there is no option {name} in {called(path)}; {nearest(name, tuple(known))}")
    if not option.takes:
        if equals:
            raise UsageError(f"{name} takes no value")
        return option.name, ""
    value_given = given if equals else next(pending, "")
    if not value_given:
        raise UsageError(f"{name} needs its {option.takes}")
    return option.name, value_given


def _count(typed: Typed) -> None:
    verb, count = typed.verb, len(typed.words)
    if count < verb.least:
        raise UsageError(f"{called(typed.path)} needs {verb.words}; see {called(typed.path)} --help")
    if count > verb.most:
        extra = typed.words[verb.most]
        raise UsageError(f"{called(typed.path)} does not know what to do with {extra!r}")


def called(path: Sequence[Verb]) -> str:
    """How a person types the way to a verb."""
    return " ".join(verb.name for verb in path)
