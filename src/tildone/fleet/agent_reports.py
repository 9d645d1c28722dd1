"""What agents report in their output: the tokens and the cost that they have used, and what they were refused.

How the output of an agent is read is part of its launch. It is that of another program in any of its versions, so no
member is assumed to be present or of the right type.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from tildone.base import value
from tildone.base.json import parse
from tildone.plan.events import UNKNOWN, AgentUsage, Author, Event, usage_in
from tildone.plan.runs import MAX_REFUSED, CommandRefused, Lease, is_of
from tildone.stores.agents import agent_id

WHY_REFUSED = "the agent may not do it here"


@value
class AgentReport:
    """The agent with its conversation and its model, what it has used in all, and what it was refused."""

    who: Author
    used: AgentUsage = UNKNOWN
    refused: tuple[str, ...] = ()

    def refusals(self, lease: Lease, events: Iterable[Event], redact: Callable[[str], str]) -> list[CommandRefused]:
        """Return the facts to record about what an agent of a lease was refused, which the events do not have."""
        facts = (event.fact for event in events)
        known = {fact.text for fact in facts if isinstance(fact, CommandRefused) and is_of(fact, lease)}
        texts = dict.fromkeys(redact(text)[:MAX_REFUSED] for text in self.refused)
        return [CommandRefused(lease.run, lease.hand, text, WHY_REFUSED) for text in texts if text not in known]


ReadReport = Callable[[Iterable[str]], AgentReport | None]
"""Returns what the lines of an output report; None if they report nothing."""


def no_report(_lines: Iterable[str]) -> AgentReport | None:
    return None


RESULT = "result"
DECIMALS = 6
"""Of an amount in dollars."""


def claude_report(lines: Iterable[str]) -> AgentReport | None:
    """Return what the result of Claude Code reports, with which its stream of JSON objects ends."""
    results = (entry for line in lines if f'"{RESULT}"' in line and (entry := _object(line)).get("type") == RESULT)
    result = next(iter(deque(results, 1)), {})
    conversation, cost = result.get("session_id"), result.get("total_cost_usd")
    if not isinstance(conversation, str) or not conversation:
        return None
    models, denials = result.get("modelUsage"), result.get("permission_denials")
    # Those of its subagents are among them, as in the cost.
    used = models if isinstance(models, dict) else {}
    tokens_in = _sum(used, "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    total = {
        "in": tokens_in,
        "out": _sum(used, "outputTokens"),
        "cost": round(cost, DECIMALS) if isinstance(cost, float) else None,
    }
    refused = (each for each in (denials if isinstance(denials, list) else ()) if isinstance(each, dict))
    return AgentReport(
        Author(agent=str(agent_id("claude", conversation, 0)), model=next(iter(used), "")),
        usage_in(total) or UNKNOWN,
        tuple(call_text(str(each.get("tool_name")), each.get("tool_input")) for each in refused),
    )


SHELL_TOOL = "Bash"


def call_text(tool: str, given: object) -> str:
    """Return what a call of a tool of Claude Code wants to do: a command as it is."""
    command = given.get("command") if tool == SHELL_TOOL and isinstance(given, dict) else None
    return command if isinstance(command, str) else f"{tool} {json.dumps(given)}"


def _object(line: str) -> dict[str, Any]:
    try:
        entry = parse(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _sum(used: dict[str, Any], *names: str) -> int | None:
    counts = [each.get(name) for each in used.values() if isinstance(each, dict) for name in names]
    return sum(count for count in counts if isinstance(count, int)) or None
