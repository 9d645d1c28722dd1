"""All agents of the page of bounds against the real programs, and agents that may rest.

Every hook, command and tool server is a process, and the model of `tildone run` answers over HTTP. The dialects are
those that a person gets without choosing one. Each agent has to be continued as often as the page says, which the
simulation in one process has counted, and has to be let go for a reason: a bound was reached, or nothing is left to do.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.faults.gate.actions import BLOCKED, DONE, Action, Mark
from tests.faults.gate.agents import Agent, View
from tests.faults.gate.hooks_path import run_real_hooks
from tests.faults.gate.outcome import MAX_CONTINUATIONS, Ended
from tests.faults.gate.program_path import run_program
from tests.faults.gate.table import ALL_AGENTS, NOT_APPLICABLE, text_in_page
from tests.faults.tally import Plan, Tally

PATHS: dict[str, tuple[Callable[[Agent, str], Ended], str]] = {
    "hooks": (run_real_hooks, "brief"),
    "run": (run_program, "indexed"),
}
"""By path: what runs an agent there, and in which dialect."""


def _closes_all(view: View, _turn: int) -> Iterator[Action]:
    yield view.make(Mark(DONE, (0, 1)))


def _blocks_all(view: View, _turn: int) -> Iterator[Action]:
    yield view.make(Mark(BLOCKED, (0,)))
    yield view.make(Mark(BLOCKED, (1,)))


RESTING = (
    Agent("finished", "closes all tasks, and stops", _closes_all),
    Agent("waiting", "blocks all tasks, and stops", _blocks_all),
)
"""Agents that may rest: none of them is continued."""

LEFT_OUT = (("slow", "run"),)
"""Agents that would take many minutes: 1,702 requests, each with a longer conversation. It runs with hooks."""

SHORT = (("toggler", "hooks"), ("pause-typer", "hooks"), ("lister", "run"), ("waiting", "hooks"), ("finished", "run"))


@dataclass(frozen=True, slots=True)
class Row:
    """How an agent ended on a path. `continuations` are nudges, in `tildone run` requests to its model."""

    agent: Agent
    path: str
    ended: Ended

    @property
    def expected(self) -> str:
        """The number on the page."""
        return text_in_page(self.agent, self.path, PATHS[self.path][1])

    @property
    def fault(self) -> str:
        """What is wrong; empty if nothing is."""
        if self.agent in RESTING:
            return "was held, and may rest" if self.ended.was_held else ""
        if self.agent.honest and not self.ended.done:
            return "was let go before its plan was done"
        if not self.ended.done and not self.ended.bound:
            return "was let go with open work, and no bound was reached"
        if str(self.ended.count) != self.expected:
            return f"{self.expected} on the page"
        # Each subagent is let go by itself.
        told = 1 if self.agent.subagents else len(self.ended.notices)
        return f"the person was told {told} times" if self.ended.bound and told != 1 else ""

    @property
    def line(self) -> str:
        fault = f"  FAILED: {self.fault}" if self.fault else ""
        return f"{self.agent.name:24} {self.path:6} {self.ended.count:5}  {self.ended.why}{fault}"


def real_agents(plan: Plan, tally: Tally) -> None:
    """Run the agents, and print the table of the long form."""
    wanted = None if plan.is_long else SHORT
    for row in rows(wanted):
        is_endless = row.ended.count >= MAX_CONTINUATIONS
        tally.add(inputs=1, agents=1, stopped_early=int(bool(row.fault)), unbounded=int(is_endless))
        if plan.is_long or row.fault:
            print(row.line, flush=True)


def rows(wanted: Sequence[tuple[str, str]] | None = None) -> Iterator[Row]:
    """Run agents on their paths, a few at a time; all of them if none are named."""
    cells = [
        (agent, path)
        for agent in (*ALL_AGENTS, *RESTING)
        for path in PATHS
        if not NOT_APPLICABLE[path](agent)
        and ((agent.name, path) not in LEFT_OUT if wanted is None else (agent.name, path) in wanted)
    ]

    def run(cell: tuple[Agent, str]) -> Row:
        agent, path = cell
        start, dialect = PATHS[path]
        return Row(agent, path, start(agent, dialect))

    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as threads:
        yield from threads.map(run, cells)
