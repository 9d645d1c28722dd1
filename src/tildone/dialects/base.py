"""What a dialect is: a record of plain functions and data."""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.core.reduce import Outcome, Step
from tildone.core.rules import Rules
from tildone.kit.schema import Problem
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Params = Mapping[str, Any]
    Details = dict[str, Any]
    Schema = Mapping[str, Any]


@value
class Reply:
    """What a model gets back."""

    text: str
    details: Details
    is_error: bool = False


@value
class Done:
    """A call that was carried out, with everything a reply may tell of it.

    `known` is the plan as the model last saw it; None when it never did, or no longer remembers.
    """

    params: Params
    outcome: Outcome
    durable: bool = False
    took_ms: int = 0
    saved_to: str | None = None
    known: Plan | None = None


@value
class Tool:
    """One tool as a model knows it, and what it does.

    `demands` names what a call lacks although its arguments fit the schema. `steps` puts the arguments as
    changes to a plan; a tool that only reads has none. `reply` tells what came of it. One that is not `strict` reads
    a number for text, and text for a whole number, where it can mean nothing else. One that has `meant` reads more
    than its schema says: that gives the arguments as they were meant, or what can't be made out of them.
    """

    name: str
    label: str
    description: str
    parameters: Schema
    steps: Callable[[Params], Sequence[Step]]
    reply: Callable[[Done], Reply]
    demands: Callable[[Params], Sequence[Problem]] = lambda _: ()
    snippet: str = ""
    guidelines: tuple[str, ...] = ()
    strict: bool = True
    meant: Callable[[object], tuple[Params, Sequence[Problem]]] | None = None


@value
class Dialect:
    """The tools of one family, and what else is said in its words.

    `refuse` answers a call whose arguments are wrong; nothing was changed by it. `context` is what is put
    before a model at the start of its turn, if there is anything to say; `carry_on` tells it to go on.
    `recover` reads the plan out of the entries of a session that another host wrote, or finds none. Where a
    call `completes` a plan, `completion` is what a log for people says of it, given the number of the entry
    and a time stamp.
    """

    name: str
    rules: Rules
    tools: tuple[Tool, ...]
    refuse: Callable[[Tool, Sequence[Problem], object], Reply]
    context: Callable[[Plan], str | None]
    carry_on: Callable[[Plan], str]
    recover: Callable[[Sequence[Mapping[str, Any]]], Plan | None]
    completes: Callable[[Done], bool] = lambda _: False
    completion: Callable[[Done, int, str], str] = lambda *_: ""

    def tool(self, name: str) -> Tool | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)
