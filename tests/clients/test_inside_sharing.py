"""Two real clients in one folder, on one plan that is shared on purpose."""

from collections.abc import Callable

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, Sandbox
from tests.clients.inside import GO_ON, WAIT, TwoAgentModel, install, last_message
from tests.clients.model import Model
from tests.host.models.model_server import ReceivedRequest, Turn

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

FIRST, SECOND = "First errand.", "Second errand."


class ListeningModel(TwoAgentModel):
    """A model for two agents that records what it was told to go on with."""

    def respond(self, request: ReceivedRequest) -> Turn:
        self.requests.append(request)
        return super().respond(request)

    @property
    def nudges(self) -> list[str]:
        return [text for text in map(last_message, self.requests) if GO_ON in text]


@pytest.mark.parametrize(("name", "other"), [("claude", "codex"), ("gemini", "claude"), ("pi", "gemini")])
def test_each_client_is_held_to_its_own_tasks_and_to_those_nobody_has_taken(
    name: str, other: str, make_sandbox: MakeSandbox
) -> None:
    """The second one stops twice: with a free task, to which it is held, and when only the first's is left."""
    scripts: dict[str, list[Turn]] = {
        FIRST: [
            {"tool": "todo", "args": {"add": ["Taken", "Free"]}},
            {"tool": "todo", "args": {"start": 1}},
            {"waits": True, "text": "Shall I go on?"},
        ],
        SECOND: [{"text": "I stop here."}, {"tool": "todo", "args": {"done": 2}}, {"text": "The rest is taken."}],
    }
    with ListeningModel(scripts, wait=WAIT.get(name) or WAIT.get(other)) as model:
        sandbox = make_sandbox(model)
        first, second = install(name, sandbox), install(other, sandbox)
        first.tildone("share", "on")
        with first.running(FIRST) as process:
            assert model.waits.wait(TIMEOUT_SECONDS)
            shown = first.tildone("todo").splitlines()
            result = second.run(SECOND)
            model.go.set()
            process.communicate()

    assert (process.returncode, result.code) == (0, 0), result
    assert [("Free" in text, "Taken" in text) for text in model.nudges] == [(True, False)]
    assert first.sessions() == {str(sandbox.work): [("Taken", "in_progress"), ("Free", "completed")]}
    assert shown[-1].startswith(f"shared by {name} ")
    assert shown[-1].endswith(" (#1)")
