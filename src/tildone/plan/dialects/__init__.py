"""The dialects: the todo tools, schemas and texts for each family of models, each a record of plain functions and data.

The record contains everything that tildone knows about a dialect. Shells list and call its tools, hosts run it on the
extension skeleton, and the shell driver phrases its calls, all from these fields. To add a dialect, add a module that
defines its record as the global `DIALECT`, and a line to `DIALECTS`.

The dialects that reproduce other tools keep the exact texts of those tools, and their lists hold one line for each
task. All else that a text could do to its reader is the same for all dialects, and so it is prevented here: every
dialect defines its record with `safe_dialect`, so that its texts are harmless whatever the plan contains, and of
limited size. There is no other form of it to import.

The plan must be recoverable at every point of a conversation, because a person may resume the conversation or return to
an earlier point of it. Dialects whose details contain the whole plan read it from there. For the others, the host adds
the plan to the details under the key `KEY`, which no model reads, and `recover` reads it. For screens, it adds the
numbers of the tasks that are new or differ from those in the result before, if the rest of the plan is as it was.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry, UsageError, nearest, replace, value
from tildone.plan.codec import plan_from_json, plan_to_json
from tildone.plan.model import Plan, Rules, Status, numbered
from tildone.plan.text.safe import MAX_CONTEXT, MAX_NUDGE, MAX_RESULT, clipped, safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ParamSpec, Protocol

    from tildone.base.schema import SchemaProblem
    from tildone.plan.reduce import Outcome, Step

    P = ParamSpec("P")

    SchemaSchema = dict[str, Any]

    Params = Mapping[str, Any]

    Details = dict[str, Any]

    Schema = Mapping[str, Any]

    ToolCall = tuple[str, dict[str, Any]]

    class Completions(Protocol):
        """A log of completed plans, for people."""

        def add(self, entry: Callable[[int, str], str]) -> str | None:
            """Write the entry made from a number and a timestamp. Return its path; None if writing failed."""


@value
class DialectEntry:
    """The facts about a dialect that are available without importing it.

    `tools` are the names of its tools. `custom_types` are the types of the custom conversation entries that contain its
    plans; the results of its tools may contain plans, too. `by_position` means that its models name tasks by position.
    """

    tools: tuple[str, ...]
    custom_types: tuple[str, ...] = ()
    by_position: bool = False


DIALECTS: Registry[Dialect, DialectEntry] = Registry(
    __name__,
    "DIALECT",
    {
        "indexed": DialectEntry(("write_todos", "list_todos", "edit_todos"), by_position=True),
        "phased": DialectEntry(("todo_write",), ("user_todo_edit", "tildone_plan")),
        "declared": DialectEntry(("TodoWrite",)),
        "brief": DialectEntry(("todo",)),
    },
)

DEFAULT_DIALECT = "brief"
"""The dialect for MCP clients and hooks, unless another one is configured."""


def dialect_named(name: str) -> Dialect:
    """Return the dialect of that name, importing no other; raise `UsageError` if there is none."""
    if name not in DIALECTS:
        raise UsageError(f"there is no dialect {name!r}; {nearest(name, tuple(DIALECTS))}")
    return DIALECTS[name]


def dialect_of_tool(tool: str) -> str | None:
    return next((name for name, entry in DIALECTS.entries.items() if tool in entry.tools), None)


def tools_of(name: str) -> tuple[str, ...]:
    """Return the names of a dialect's tools without importing the dialect."""
    return DIALECTS.entries[name].tools


def names_by_position(name: str | None) -> bool:
    """Return whether the models of a dialect name tasks by position; False for a name of no dialect with tools."""
    entry = DIALECTS.entries.get(name or "")
    return entry is not None and entry.by_position


def plan_in_entry(entry: Mapping[str, Any]) -> Plan | None:
    message, custom_type = entry.get("message"), entry.get("customType")
    if isinstance(message, dict):
        name = dialect_of_tool(str(message.get("toolName")))
    else:
        name = next((each for each, listed in DIALECTS.entries.items() if custom_type in listed.custom_types), None)
    return None if name is None else dialect_named(name).recover([entry])


def safe_dialect(dialect: Dialect) -> Dialect:
    """Return the dialect with every text that it makes of a plan or of a call in its harmless form."""
    context, completion = dialect.context, dialect.completion
    return replace(
        dialect,
        tools=tuple(replace(tool, reply=_safe_reply(tool.reply)) for tool in dialect.tools),
        refuse=_safe_reply(dialect.refuse),
        context=lambda plan: None if (text := context(plan)) is None else clipped(safe_text(text), MAX_CONTEXT),
        carry_on=lambda plan: clipped(safe_text(dialect.carry_on(plan)), MAX_NUDGE),
        completion=completion and (lambda *given: safe_text(completion(*given))),
    )


def _safe_reply(reply: Callable[P, Reply]) -> Callable[P, Reply]:
    def make(*args: P.args, **kwargs: P.kwargs) -> Reply:
        made = reply(*args, **kwargs)
        return replace(made, text=clipped(safe_text(made.text), MAX_RESULT))

    return make


TEXT: SchemaSchema = {"type": "string"}
INTEGER: SchemaSchema = {"type": "integer"}
ANYTHING: SchemaSchema = {}


def record(*required: str, **properties: SchemaSchema) -> SchemaSchema:
    """Return the schema of an object with these properties; `required` names those that must be present."""
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: SchemaSchema) -> SchemaSchema:
    return {"type": "array", "items": items}


def enumeration(*words: str) -> SchemaSchema:
    return {"type": "string", "enum": list(words)}


KEY, CHANGED = "tildone_plan", "tildone_changed"


def with_plan(details: Mapping[str, Any], plan: Plan, before: Plan) -> dict[str, Any]:
    """Return the details of a result with the plan added, and what of it differs from the plan `before`."""
    changed = _changed(numbered(before), numbered(plan))
    return {**details, KEY: plan_to_json(plan), **({} if changed is None else {CHANGED: changed})}


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the plan in the newest result that contains a valid one, or None."""
    return next((plan for entry in reversed(entries) if (plan := _plan(entry)) is not None), None)


def _plan(entry: Mapping[str, Any]) -> Plan | None:
    match entry:
        case {"type": "message", "message": {"role": "toolResult", "details": details}}:
            return plan_in_details(details)
        case _:
            return None


def plan_in_details(details: object) -> Plan | None:
    if not isinstance(details, dict) or KEY not in details:
        return None
    try:
        return plan_from_json(details[KEY])
    except ValueError:
        return None


def changed_in_details(details: object) -> list[int]:
    """Return the numbers of the tasks that are new or have changed; empty if more than these have, or none."""
    numbers = details.get(CHANGED) if isinstance(details, dict) else None
    return numbers if isinstance(numbers, list) else []


def _changed(before: Plan, after: Plan) -> list[int] | None:
    """The numbers of the tasks that are new or other ones; None if tasks or phases were removed, moved or renamed."""
    old, new = ({task.number: task for task in plan.tasks} for plan in (before, after))
    kept = [(phase.name, [task.number for task in phase.tasks if task.number in old]) for phase in after.phases]
    were = [(phase.name, [task.number for task in phase.tasks]) for phase in before.phases]
    if kept[: len(were)] != were or any(numbers for _, numbers in kept[len(were) :]):
        return None
    return [number for number, task in new.items() if old.get(number) != task]


@value
class Reply:
    """What a call returns: `text` for the model, `details` for programs, `refusals` for what it did not do of it.

    `outcome` is what it did to the plan, if it was executed.
    """

    text: str
    details: Details
    is_error: bool = False
    refusals: tuple[str, ...] = ()
    outcome: Outcome | None = None

    __uncompared__ = ("outcome",)

    @property
    def failed(self) -> bool:
        """Whether the call was refused. Like their originals, some dialects report a refusal in `details` only."""
        return self.is_error or bool(self.details.get("error"))


@value
class CompletedCall:
    """A call that was executed. `known` is the plan as the model last saw it; None if not since its context began.

    `left` are the numbers of the tasks after it that agents of other conversations left.
    """

    params: Params
    outcome: Outcome
    durable: bool = False
    elapsed_ms: int = 0
    saved_to: str | None = None
    known: Plan | None = None
    left: frozenset[int] = frozenset()


@value
class Hints:
    """What a client may assume of a tool (MCP's annotations). None is destructive by default: an undo restores."""

    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False


@value
class Tool:
    """One tool: its description for the model, and its implementation.

    `label` is its title for people. `parameters` is the JSON schema of the arguments, and `output_schema` is the schema
    of a reply's details; a tool without an output schema returns no structured results.

    `steps` translates the arguments into changes to a plan, or into a function that returns the changes for a plan; a
    read-only tool has none. `reply` reports the outcome. A tool with `whole_list` is sent the complete plan each time:
    tasks that others added since the model last saw the plan are kept although its list lacks them.
    `demands` returns problems that the schema cannot express. A tool that is not `strict` accepts a
    number for text, and text for an integer, where that is unambiguous. A tool with `interpret` accepts more forms than
    its schema describes: the function returns the arguments in their normal form, or the problems with them.

    `snippet` is the tool's line in the list of tools of a system prompt, and `guidelines` are added to that prompt.
    """

    name: str
    label: str
    description: str
    parameters: Schema
    steps: Callable[[Params], Sequence[Step] | Callable[[Plan], Sequence[Step]]]
    reply: Callable[[CompletedCall], Reply]
    demands: Callable[[Params], Sequence[SchemaProblem]] = lambda _: ()
    snippet: str = ""
    guidelines: tuple[str, ...] = ()
    strict: bool = True
    interpret: Callable[[object], tuple[Params, Sequence[SchemaProblem]]] | None = None
    output_schema: Schema | None = None
    hints: Hints = Hints()
    whole_list: bool = False


@value
class Phrasing:
    """How a program works through a plan: `mark` returns the call that sets the status of the task at a position."""

    mark: Callable[[Plan, int, Status], ToolCall]


@value
class Dialect:
    """The tools of one family of models, and all other text about the plan that these models read.

    `refuse` replies to a call with invalid arguments, which changes nothing. `context` returns the text that is added
    before a model's turn, or None. `carry_on` returns the prompt that tells a model to continue, and `if_waiting` is
    added to it if the model may wait for an answer. `phrasing` lets the shell driver use the dialect.

    `recover` reads the plan from the entries of a conversation. The default is for dialects whose details do not
    contain the plan: hosts add it to the results (see `tildone.plan.dialects`).

    `names_tools` means that `context` tells the model to call the dialect's tools.

    `shown_part` returns the part of a plan that a model is told. Tasks that it was not told are kept when it replaces
    the whole list.

    A dialect that is `numbered` names tasks by their numbers towards its model. One that `marks_origins` says in its
    texts which open tasks a person added; others have the exact texts of the tools they come from, and hooks add it.

    A dialect that `tells_results` says in its replies which checks did not pass; to those of others, it is added.

    A dialect with a `completion` logs finished plans for people. When `completes` is true of a call,
    `completion(call, number, timestamp)` returns the log entry.
    """

    name: str
    rules: Rules
    tools: tuple[Tool, ...]
    refuse: Callable[[Tool, Sequence[SchemaProblem], object], Reply]
    context: Callable[[Plan], str | None]
    carry_on: Callable[[Plan], str]
    if_waiting: str = "If you wait for the user's answer, end your turn with that question."
    recover: Callable[[Sequence[Mapping[str, Any]]], Plan | None] = recover
    phrasing: Phrasing | None = None
    completes: Callable[[CompletedCall], bool] = lambda _: False
    completion: Callable[[CompletedCall, int, str], str] | None = None
    numbered: bool = False
    marks_origins: bool = False
    tells_results: bool = False
    names_tools: bool = True
    shown_part: Callable[[Plan], Plan] = lambda plan: plan

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def needs_snapshots(self) -> bool:
        """Whether hosts have to add the plan to the results of the dialect's tools."""
        return self.recover is recover


BY_HAND = Dialect(
    name="by hand",
    rules=Rules(),
    tools=(),
    refuse=lambda *_: Reply("", {}, is_error=True),
    context=lambda _: None,
    carry_on=lambda _: "",
)
"""The dialect of changes without our tools: it has no limits, and starts no task automatically."""
