"""A scripted model for many plans: each of its conversations works through the plan that it is about.

It speaks the protocols of its providers. A conversation needs a request for each command, one for each task that is
done, and one for its end.
"""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.drills.many_plans import CHECKED, PROVIDERS, TASKS, ManyPlan
from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn


@dataclass(frozen=True)
class NotedRequest:
    """When a request of a plan arrived, in milliseconds since 1970."""

    plan: int
    provider: str
    at: int


class ManyPlansModel(ModelServer):
    """The model. `noted` are the requests that it got."""

    def __init__(self, folder: Path, plans: list[ManyPlan]) -> None:
        super().__init__()
        self._folder, self._plans = folder, plans
        self.noted: list[NotedRequest] = []

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that connect both providers to this server."""
        urls = {"OPENAI_BASE_URL": f"{self.url}/v1", "ANTHROPIC_BASE_URL": self.url, "NO_PROXY": "127.0.0.1"}
        return urls | {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}

    def next_turn(self, request: ReceivedRequest) -> Turn:
        """Note a request, and return the turn that its conversation is at."""
        at = time.time_ns() // 1_000_000
        found = re.search(r"of plan (\d+)", json.dumps(request.body))
        assert found, request.body
        plan = self._plans[int(found[1])]
        self.noted.append(NotedRequest(plan.number, PROVIDERS[not request.path.startswith("/v1/messages")], at))
        done = [message for message in request.messages if message["role"] == "assistant"]
        turns = self._turns(plan)
        return turns[min(len(done), len(turns) - 1)]

    def _turns(self, plan: ManyPlan) -> list[Turn]:
        turns: list[Turn] = []
        for task in range(1, TASKS + 1):
            if task != CHECKED:
                turns.append({"tool": "bash", "args": {"command": plan.command(self._folder, task)}})
            turns.append({"tool": "edit_todos", "args": {"action": "complete", "indices": [task - 1]}})
        return [*turns, {"text": "Finished."}]
