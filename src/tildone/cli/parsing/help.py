"""Help for every verb, written from the table that they are parsed by."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.parsing.args import Typed, Verb, called, parse
from tildone.cli.verbs import ROOT


def overview(typed: Typed) -> int:
    """The program's own help."""
    return show(typed.path)


def help_(typed: Typed) -> int:
    """Help for the verb that is named."""
    return show(parse(ROOT, [*typed.words, "--help"]).path)


def version(_typed: Typed) -> int:
    """The installed version."""
    # Looking up metadata is slow, and only this asks for it.
    from importlib.metadata import version as installed  # noqa: PLC0415  see above

    put(f"tildone {installed('tildone')}")
    return 0


def show(path: tuple[Verb, ...]) -> int:
    """Print the help of the verb that `path` leads to."""
    put("\n".join(_lines(path)))
    return 0


def _lines(path: tuple[Verb, ...]) -> list[str]:
    verb = path[-1]
    lines = [f"{called(path)} {verb.words}".rstrip(), "", _sentence(verb.summary)]
    if verb.about:
        lines += ["", verb.about]
    if verb.verbs:
        lines += ["", "Verbs:", *_table([(f"{each.name} {each.words}".rstrip(), each.summary) for each in verb.verbs])]
    # What a verb says of an option counts more than what the program says of it.
    options = {option.name: option for option in (*verb.options, *path[0].options, *verb.options)}
    rows = [(f"--{option.name} {option.takes}".rstrip(), option.means) for option in options.values()]
    lines += ["", "Options:", *_table(rows)]
    return [*lines, "", "Examples:", *(f"  $ {example}" for example in verb.examples)]


def _table(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(left) for left, _ in rows)
    return [f"  {left.ljust(width)}  {right}" for left, right in rows]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].removesuffix(".") + "."
