"""The generated part of `docs/reference/what-an-agent-can-do.md`: who may do what, and where."""

import re

from tests.project.source import ROOT
from tildone.app.who import FORM, IN_SHELLS_OF_AGENTS, QUESTION, WAYS, PersonAct, Surface
from tildone.base.keys import ALL_BINDINGS
from tildone.screens.widgets.prompt import first_key

PAGE = ROOT / "docs" / "reference" / "what-an-agent-can-do.md"
GENERATED = re.compile(r"(?<=<!-- generated from tildone.app.who -->\n).*(?=<!-- end -->)", re.DOTALL)
NOT_THERE = "–"
IN_WORDS = {FORM: "a form of the client", QUESTION: "the question of the run, also over RPC"}


def page() -> str:
    """Return the page as it should be now."""
    return GENERATED.sub(lambda _: f"\n{acts()}\n\n", PAGE.read_text(encoding="utf-8"))


def acts() -> str:
    """Return the table: a row for each act, a column for each surface."""
    heading = " | ".join(surface.value for surface in Surface)
    rows = [f"| {_act(act)} | {' | '.join(_cell(act, surface) for surface in Surface)} |" for act in WAYS]
    return "\n".join([f"| only a person can | {heading} |", f"|---{'|---' * len(Surface)}|", *rows])


def _act(act: PersonAct) -> str:
    return f"{act.value}{' ¹' if act in IN_SHELLS_OF_AGENTS else ''}"


def _cell(act: PersonAct, surface: Surface) -> str:
    return ", ".join(_way(surface, way) for way in WAYS[act].get(surface, ())) or NOT_THERE


def _way(surface: Surface, way: str) -> str:
    """Return what a person types, presses or sends."""
    if way in IN_WORDS:
        return IN_WORDS[way]
    match surface:
        case Surface.COMMAND_LINE:
            return f"`tildone {way}`"
        case Surface.FLEET:
            return f"`tildone fleet {way}`"
        case Surface.BOARD:
            return f"`POST {way}`"
        case _ if way.startswith("/"):
            return f"`{way}`"
        case _:
            return f"key `{first_key(ALL_BINDINGS, way)}`"
