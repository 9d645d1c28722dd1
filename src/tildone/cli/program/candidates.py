"""What can complete a command line: verbs, options, and the values that arguments and options take.

The tables of verbs tell what is expected. The words in capitals by which the help writes arguments (`TASK`, `FILE`) say
where their values come from; so do the names of options. Only values of the plan need the store.
"""

from __future__ import annotations

from tildone.cli.parsing.args import SHORT
from tildone.cli.parsing.table import UNLIMITED, ParsedArgs
from tildone.cli.program.values import PROVIDERS, Candidate
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.cli.parsing.table import Option, Verb

FILES = frozenset({"FILE", "DIR", "PLAN", "TO", "STORE"})
"""Words for arguments that may be a file or a folder, which the shell completes itself."""

BY_OPTION = {
    "agent": "FLEET_AGENT",
    "agents": "FLEET_AGENT",
    "as": "EXPORT_FORMAT",
    "at": "EVENT",
    "dialect": "DIALECT",
    "into": "SESSION",
    "mode": "MODE",
    "phase": "PHASE",
    "scope": "SCOPE",
    "session": "SESSION",
    "status": "STATUS",
    "store": "STORE",
}
"""What an option takes whose metavar does not tell it."""

BY_VERB = {
    ("hook", "EVENT"): "",
    ("hook", "AGENT"): "AGENT_WITH_HOOKS",
    ("run", "TASK"): "",
    ("remove", "NAME"): "SCHEDULE",
}
"""Words that mean something else for one verb."""


@value
class Completions:
    """The candidates for the last word, and whether file names are candidates too."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False


@value
class _Position:
    """What is known of a command line before its last word. `awaiting` is an option whose value comes next."""

    args: ParsedArgs
    awaiting: Option | None = None
    options_ended: bool = False


def completions(root: Verb, words: Sequence[str]) -> Completions:
    """What can complete the last of `words`, which follow the name of the program."""
    *before, current = words or [""]
    at = _position(root, before)
    if at.awaiting is not None:
        return _of_kinds(_kinds_of_option(at, at.awaiting), at, current)
    if current.startswith("-") and not at.options_ended:
        return _options(at, current)
    verb = at.args.verb
    if at.options_ended and verb.takes_command:
        # A command of another program.
        return Completions(files=True)
    if "VERB" in verb.arguments and not verb.groups:
        # The arguments of help are verbs.
        above = _position(at.args.path[0], at.args.positional).args
        return Completions(() if above.positional else _matching(_verbs(above.verb, current), current))
    if verb.groups and not at.args.positional:
        return Completions(_matching(_verbs(verb, current), current))
    return _of_kinds(_kinds_of_argument(verb, len(at.args.positional)), at, current)


def _position(root: Verb, before: Sequence[str]) -> _Position:
    """Read the words before the last one as far as they can be understood."""
    path, positional, options = [root], list[str](), dict[str, str]()
    awaiting, ended = None, False
    for word in before:
        if awaiting is not None:
            options[awaiting.name], awaiting = word, None
        elif ended or not word.startswith("-") or word == "-":
            verb = None if positional else path[-1].verb(word)
            if verb is None:
                positional.append(word)
            else:
                path.append(verb)
        elif word == "--":
            ended = True
        else:
            name, equals, given = word.partition("=")
            option = _known_options(path).get(SHORT.get(name, name))
            if option is not None:
                awaiting = option if option.metavar and not equals else None
                options[option.name] = given
    return _Position(ParsedArgs(tuple(path), tuple(positional), options), awaiting, ended)


def _known_options(path: Sequence[Verb]) -> dict[str, Option]:
    return {f"--{option.name}": option for option in (*path[-1].options, *path[0].options)}


def _options(at: _Position, current: str) -> Completions:
    known = _known_options(at.args.path)
    name, equals, given = current.partition("=")
    if equals:
        option = known.get(name)
        found = _of_kinds(_kinds_of_option(at, option), at, given) if option else Completions()
        return Completions(tuple(Candidate(f"{name}={each.text}", each.meaning) for each in found.candidates))
    # The help of some options has placeholders, which are slow to fill.
    rows = (Candidate(name, "" if "{" in option.help else option.help) for name, option in known.items())
    return Completions(_matching(rows, current))


def _verbs(parent: Verb, current: str) -> Iterable[Candidate]:
    """The verbs below a verb; other names of a verb only if they are being typed."""
    for verb in parent.verbs:
        if not verb.hidden:
            yield Candidate(verb.name, verb.summary)
            yield from (Candidate(alias, verb.summary) for alias in verb.aliases if current)


def _kinds_of_option(at: _Position, option: Option) -> list[str]:
    if at.args.verb.name == "run" and option.name in ("session", "resume"):
        return ["FILE"]
    if option.name == "from":
        return ["STORE" if at.args.verb.name == "migrate" else "FORMAT"]
    return [BY_OPTION[option.name]] if option.name in BY_OPTION else _capitals(option.metavar)


def _kinds_of_argument(verb: Verb, index: int) -> list[str]:
    """The words in capitals that describe the positional argument at an index; the last one may be repeated."""
    slots = [slot for slot in verb.arguments.split() if slot.strip("[]…")]
    if index >= len(slots) and verb.max_args < UNLIMITED:
        return []
    slot = slots[min(index, len(slots) - 1)] if slots else ""
    kinds = [BY_VERB.get((verb.name, word), word) for word in _capitals(slot)]
    # Several tasks may be named by their numbers, but only one phase.
    return [kind for kind in kinds if kind != "PHASE" or not index or "TASK" not in kinds]


def _capitals(text: str) -> list[str]:
    letters = "".join(char if "A" <= char <= "Z" or char == "_" else " " for char in text)
    return [word for word in letters.split() if len(word) > 1]


def _of_kinds(kinds: Sequence[str], at: _Position, current: str) -> Completions:
    found = [each for kind in kinds if kind in PROVIDERS for each in PROVIDERS[kind](at.args, current)]
    return Completions(_matching(found, current), files=not FILES.isdisjoint(kinds))


def _matching(candidates: Iterable[Candidate], current: str) -> tuple[Candidate, ...]:
    """The candidates that begin with what was typed. One that could not be typed as it is shown is left out."""
    typed = current.casefold()
    fitting = (each for each in candidates if each.text.casefold().startswith(typed))
    return tuple(dict.fromkeys(each for each in fitting if each.text and printable(each.text) == each.text))
