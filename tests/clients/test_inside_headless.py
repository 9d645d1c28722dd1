"""In a real client without a terminal, standard error says what the person would have been shown."""

import pytest

from tests.clients.driving import HEADLESS, ActingModel, MakeSandbox, shell
from tests.clients.inside import TASK, InstalledClient, install
from tests.clients.model import Model
from tests.host.models.model_server import Turn
from tests.trusted import write_trusted

pytestmark = pytest.mark.slow

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
NOT_WORKING = "tildone does not work, and the agent goes on without it: "
TOLD = {"claude": 1, "codex": 0, "gemini": 2, "opencode": 1, "pi": 1}
"""How often each client prints a notice of the start of a session: Gemini CLI in two ways, `codex exec` in none."""


@pytest.mark.parametrize("name", ["claude", "gemini", "opencode", "pi"])
def test_an_agent_that_was_stopped_says_so(name: str, make_sandbox: MakeSandbox) -> None:
    """Whatever its answer is."""
    client: InstalledClient
    last = shell(name, "true", do=lambda: client.tildone("stop"))
    with ActingModel(name, HEADLESS, PLAN, last, shell(name, "true"), {"text": "I end."}) as model:
        client = install(name, make_sandbox(model))
        result = client.run(TASK)

    assert result.code == 0, result
    assert "tildone stop" in result.err


@pytest.mark.parametrize("name", TOLD)
def test_a_setting_that_is_wrong_is_told_once(name: str, make_sandbox: MakeSandbox) -> None:
    with Model({"text": "Hello from the script."}) as model:
        client = install(name, make_sandbox(model))
        write_trusted(client.sandbox.work / "tildone.toml", "max_nudges = [", client.environ)
        result = client.run()

    assert (result.code, result.out.strip()) == (0, "Hello from the script."), result
    assert result.err.count(NOT_WORKING) == TOLD[name], result.err
