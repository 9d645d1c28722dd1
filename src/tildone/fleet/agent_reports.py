"""What agents report in their output: the tokens and the cost that they have used, and what they were refused.

How the output of an agent is read is part of its launch. It is that of another program in any of its versions, so no
member is assumed to be present or of the right type.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
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


DECIMALS = 6
"""Of an amount in dollars."""


def claude_report(lines: Iterable[str]) -> AgentReport | None:
    """Return what the result of Claude Code reports, with which its stream of JSON objects ends."""
    result = _newest(lines, "result")["result"]
    # The models of its subagents are among them, as in the cost.
    models, cost = _members(result.get("modelUsage")), result.get("total_cost_usd")
    used = {
        "in": _sum(models, "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"),
        "out": _sum(models, "outputTokens"),
        "cost": round(cost, DECIMALS) if isinstance(cost, float) else None,
    }
    denials = result.get("permission_denials")
    refused = (each for each in (denials if isinstance(denials, list) else ()) if isinstance(each, dict))
    texts = tuple(call_text(str(each.get("tool_name")), each.get("tool_input")) for each in refused)
    return _report("claude", result.get("session_id"), next(iter(models), ""), used, texts)


def codex_report(lines: Iterable[str]) -> AgentReport | None:
    """Return what Codex reports at the end of its turn, after the name of its conversation."""
    found = _newest(lines, "thread.started", "turn.completed")
    used = _members(found["turn.completed"].get("usage"))
    # Those that were cached are among the tokens of the input.
    used = {"in": used.get("input_tokens"), "out": used.get("output_tokens")}
    return _report("codex", found["thread.started"].get("thread_id"), "", used)


def gemini_report(lines: Iterable[str]) -> AgentReport | None:
    """Return what the result of Gemini CLI reports, after the name of its conversation and its model."""
    found = _newest(lines, "init", "result")
    stats, model = _members(found["result"].get("stats")), found["init"].get("model")
    used = {"in": stats.get("input_tokens"), "out": stats.get("output_tokens")}
    return _report("gemini", found["init"].get("session_id"), model if isinstance(model, str) else "", used)


def _report(
    agent: str, conversation: object, model: str, used: dict[str, Any], refused: tuple[str, ...] = ()
) -> AgentReport | None:
    if not isinstance(conversation, str) or not conversation:
        return None
    author = Author(agent=str(agent_id(agent, conversation, 0)), model=model)
    return AgentReport(author, usage_in(used) or UNKNOWN, refused)


SHELL_TOOL = "Bash"


def call_text(tool: str, given: object) -> str:
    """Return what a call of a tool of Claude Code wants to do: a command as it is."""
    command = given.get("command") if tool == SHELL_TOOL and isinstance(given, dict) else None
    return command if isinstance(command, str) else f"{tool} {json.dumps(given)}"


def _newest(lines: Iterable[str], *kinds: str) -> dict[str, dict[str, Any]]:
    """Return the last object of each kind; an empty one if there is none."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
    for line in lines:
        if any(f'"{kind}"' in line for kind in kinds):
            with suppress(ValueError):
                entry = _members(parse(line))
                found |= {kind: entry for kind in kinds if entry.get("type") == kind}
    return found


def _members(data: object) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _sum(used: dict[str, Any], *names: str) -> int | None:
    counts = [_members(each).get(name) for each in used.values() for name in names]
    return sum(count for count in counts if isinstance(count, int)) or None
