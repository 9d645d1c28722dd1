"""The use cases and how each surface offers them: the table in `docs/architecture.md`."""

from collections.abc import Iterable
from typing import NamedTuple

from tildone.app.who import FORM, Surface
from tildone.base.keys import ALL_BINDINGS
from tildone.screens.widgets.prompt import first_key

NOT_THERE = "–"


class UseCase(NamedTuple):
    """What can be done, the function or method below `tildone.app` that does it, and by what on which surface.

    The ways are those of `tildone.app.who`.
    """

    what: str
    home: str
    commands: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    fleet: tuple[str, ...] = ()


OPS = ("/api/s/{key}/ops",)
TOOL = ("todo",)

USE_CASES = (
    UseCase("find tasks", "commands.find", ("todo list",)),
    UseCase("add tasks", "commands.add", ("todo add", "todo append"), ("task.add", "phase.add"), OPS, TOOL),
    UseCase("rename", "commands.rename", ("todo rename",), ("task.edit",), OPS, TOOL),
    UseCase("note", "commands.note", ("todo note",), ("task.note",), OPS, TOOL),
    UseCase("move", "commands.move", ("todo move",), ("task.moveUp", "task.moveDown"), OPS, TOOL),
    UseCase("remove", "commands.remove", ("todo rm",), ("task.remove",), OPS, TOOL),
    UseCase("start", "commands.start", ("todo start",), ("task.start",), OPS, TOOL),
    UseCase("block", "commands.block", ("todo block",), ("task.block",), OPS, TOOL),
    UseCase("drop", "commands.close", ("todo drop",), ("task.drop",), OPS, TOOL),
    UseCase("complete", "checks.SessionChecks.complete", ("todo done",), ("task.toggle",), OPS, TOOL),
    UseCase("reopen", "commands.reopen", ("todo reopen",), ("task.toggle",), OPS, TOOL),
    UseCase("order tasks", "commands.order", ("todo after",), ("task.after",), OPS, TOOL),
    UseCase("name files", "commands.set_words", ("todo touches",), ("task.touches",), OPS, TOOL),
    UseCase("run a check", "checks.SessionChecks.verify", ("verify",), ("task.verify",), ("/api/s/{key}/verify",)),
    UseCase(
        "set or remove a check",
        "checks.SessionChecks.set_check",
        ("todo check",),
        ("task.check", "plan.check"),
        ("/api/s/{key}/check",),
        TOOL,
    ),
    UseCase(
        "approve a check",
        "checks.SessionChecks.approve",
        ("approve",),
        ("task.approve",),
        ("/api/s/{key}/approve",),
        (FORM,),
    ),
    UseCase("undo", "moves.undo", ("undo",), ("plan.undo",), ("/api/s/{key}/undo",)),
    UseCase("redo", "moves.redo", ("redo",), ("plan.redo",), ("/api/s/{key}/redo",)),
    UseCase("go back to an event", "moves.restore", ("checkout",), routes=("/api/s/{key}/restore",)),
    UseCase("label an event", "moves.set_label", ("label",)),
    UseCase("import a plan", "importing.import_plan", ("import",)),
    UseCase("answer an agent", "answering.answer_need", ("answer",), ("watch.answer",), ("/api/needs/{item}",)),
    UseCase(
        "pause, stop, resume an agent",
        "who.steer_sessions",
        ("pause", "stop", "resume"),
        ("watch.pause", "watch.stop", "watch.resume"),
        ("/api/s/{key}/directive",),
    ),
    UseCase("answer a run", "answering.answer_question", routes=("/api/fleet/answer",), fleet=("answer", "approve")),
    UseCase(
        "pause, resume, retry, cancel a run",
        "runs.request_run",
        routes=("/api/fleet/ask", "/api/fleet/ask-all"),
        fleet=("pause", "resume", "retry", "cancel"),
    ),
)


def ways(case: UseCase) -> dict[Surface, tuple[str, ...]]:
    """Return by what a use case is reached on each surface."""
    return {
        Surface.COMMAND_LINE: case.commands,
        Surface.FLEET: case.fleet,
        Surface.WATCH: case.keys,
        Surface.BOARD: case.routes,
        Surface.MCP: case.mcp,
    }


def table() -> str:
    rows = [f"| {case.what} | `app.{case.home}` | {' | '.join(_cells(case))} |" for case in USE_CASES]
    return "\n".join(
        ["| use case | in | command line, `fleet` | key | board | MCP |", "|---|---|---|---|---|---|", *rows]
    )


def _cells(case: UseCase) -> tuple[str, ...]:
    commands = [*case.commands, *(f"fleet {word}" for word in case.fleet)]
    keys = dict.fromkeys(first_key(ALL_BINDINGS, name) for name in case.keys)
    tools = ["a form" if way == FORM else "a tool" for way in case.mcp]
    cells = (
        _quoted(commands),
        _quoted(keys),
        _quoted([route.removeprefix("/api") for route in case.routes]),
        ", ".join(tools),
    )
    return tuple(cell or NOT_THERE for cell in cells)


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
