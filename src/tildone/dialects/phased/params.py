"""The parameters of `todo_write`, and their translation into changes to a plan."""

from __future__ import annotations

from tildone.core.faults import MissingField
from tildone.core.ops import Append, Everything, InPhase, Mark, Named, Note, Remove, Write
from tildone.core.plan import Phase, Status, Task
from tildone.core.rules import Focus, Rules
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.kit.schema import SchemaProblem, schema_problems
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import shown_like, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tildone.core.ops import Selector
    from tildone.core.reduce import Step
    from tildone.dialects.base import Params

RULES = Rules(focus=Focus.EXACTLY_ONE, unique_texts=True, atomic=False)
OPS = ("init", "start", "done", "rm", "drop", "append", "note")
CHANGES: dict[str, Callable[[Selector], Mark | Remove]] = {
    "done": lambda target: Mark(target, Status.COMPLETED),
    "drop": lambda target: Mark(target, Status.ABANDONED),
    "rm": Remove,
}
_TEXT = {"type": "string"}
_ITEMS = {"type": "array", "items": _TEXT, "minItems": 1}
_LIST = {
    "type": "object",
    "required": ["phase", "items"],
    "properties": {"phase": _TEXT, "items": _ITEMS},
}
PARAMETERS = {
    "type": "object",
    "required": ["ops"],
    "properties": {
        "ops": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["op"],
                "properties": {
                    "op": {"type": "string", "enum": list(OPS)},
                    "list": {"type": "array", "items": _LIST},
                    "task": _TEXT,
                    "phase": _TEXT,
                    "items": _ITEMS,
                    "text": _TEXT,
                },
            },
        },
    },
}


def steps(params: Params) -> Sequence[Step]:
    """Return the changes of all ops, in order. An op that lacks a field becomes a fault; the others apply."""
    return [step for entry in params["ops"] for step in _steps(entry)]


def interpret(arguments: Any) -> tuple[Any, Sequence[SchemaProblem]]:
    """Return the arguments with the missing list of an `init` marked as null, and the problems with them."""
    problems = schema_problems(PARAMETERS, arguments)
    if problems:
        return arguments, problems
    ops = [{"list": None, **entry} if entry["op"] == "init" else entry for entry in arguments["ops"]]
    return {**arguments, "ops": ops}, demands({"ops": ops})


def demands(params: Params) -> Sequence[SchemaProblem]:
    """Return a problem for each op that would add a task or phase without a name."""
    return [problem for index, entry in enumerate(params["ops"]) for problem in _problems(entry, f"ops[{index}]")]


def _steps(entry: Params) -> Sequence[Step]:
    match entry["op"]:
        case "init":
            return _init(entry)
        case "append":
            return _append(entry)
        case "start" | "note" if not entry.get("task"):
            return (MissingField("task", entry["op"]),)
        case "start":
            return (Mark(_named(entry), Status.IN_PROGRESS),)
        case "note":
            return (Note(_named(entry), entry.get("text", "").rstrip(JS_WHITESPACE)),)
        case "done" | "drop" | "rm":
            target = _target(entry)
            return (target if isinstance(target, MissingField) else CHANGES[entry["op"]](target),)
        case other:
            raise AssertionError(other)


def _init(entry: Params) -> Sequence[Step]:
    if entry.get("list") is None:
        # The original empties the plan here. `interpret` marks a list that a model forgot, so that its plan stays.
        return (*(() if "list" in entry else (Write(()),)), MissingField("list", "init"))
    return (Write(tuple(Phase(given["phase"], _tasks(given["items"])) for given in entry["list"])),)


def _append(entry: Params) -> Sequence[Step]:
    if not entry.get("phase"):
        return (MissingField("phase", "append"),)
    if not entry.get("items"):
        return (MissingField("items", "append"),)
    return (Append(_tasks(entry["items"]), entry["phase"]),)


def _target(entry: Params) -> Selector | MissingField:
    """Select the named task, else the named phase, else everything; a fault if all names that are given are empty."""
    if entry.get("task"):
        return _named(entry)
    if entry.get("phase"):
        return InPhase(entry["phase"], shown_text)
    empty = next((field for field in ("task", "phase") if entry.get(field) is not None), None)
    return Everything() if empty is None else MissingField(empty, entry["op"])


def _named(entry: Params) -> Named:
    return Named(entry["task"], shown_like(entry["task"]))


def _tasks(texts: Sequence[str]) -> tuple[Task, ...]:
    return tuple(map(Task, texts))


def _problems(entry: Params, path: str) -> Sequence[SchemaProblem]:
    blank = [location for location, text in _new_texts(entry, path) if not text.strip(JS_WHITESPACE)]
    return [SchemaProblem(location, "expected some text, got none") for location in blank]


def _new_texts(entry: Params, path: str) -> Iterator[tuple[str, str]]:
    """Return every name and text that the op would add to the plan, each after its path in the arguments."""
    if entry["op"] == "init":
        for index, given in enumerate(entry.get("list") or ()):
            yield f"{path}.list[{index}].phase", given["phase"]
            yield from _with_paths(given["items"], f"{path}.list[{index}].items")
    elif entry["op"] == "append":
        yield from _with_paths(entry.get("items", ()), f"{path}.items")


def _with_paths(texts: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    return ((f"{path}[{index}]", text) for index, text in enumerate(texts))
