"""A broken tildone does not disturb the client it is installed in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import PROGRAM
from tests.clients.agents import Desk
from tests.clients.inside import CLIENTS, Inside, install, program
from tests.clients.model import Model

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]

WRONG = {
    "fails": "exit 1",
    "babbles": 'echo \'{"decision": 7, "prompt": [], "tools": {"a": 1}\'; echo \'not JSON: }{\' >&2; exit 0',
    "hangs": "exec sleep 600",
}
SECONDS = {
    "claude": {'"timeout": 10': '"timeout": 1'},
    "codex": {"timeout = 10": "timeout = 1"},
    "gemini": {'"timeout": 10000': '"timeout": 1000'},
    "opencode": {"const TIMEOUT_SECONDS = 10": "const TIMEOUT_SECONDS = 1", '"timeout": 10000': '"timeout": 1000'},
    "pi": {"const TIMEOUT_SECONDS = 10": "const TIMEOUT_SECONDS = 1"},
}
"""The timeouts that an installation sets, and shorter ones for the tests."""

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@pytest.mark.parametrize("wrong", WRONG)
def test_a_client_works_with_a_tildone_that_is_something_else(
    name: str, wrong: str, desk: Laid, tmp_path: Path
) -> None:
    """A command that fails, prints garbage, or never ends."""
    with Model({"text": "Hello from the script."}) as model:
        inside = install(name, desk(model))
        inside.rewrite(str(PROGRAM), str(program(tmp_path / "bin", WRONG[wrong])))
        if wrong == "hangs":
            inside = hurried(inside)
        unaffected(inside, model)


@in_every_client
def test_a_client_works_where_plans_cannot_be_kept(name: str, desk: Laid) -> None:
    """A tool call reports it, if the tool is there at all; hooks stay silent."""
    with Model({"text": "Hello from the script."}) as model:
        inside = install(name, desk(model))
        (inside.data / "tildone.db").mkdir(parents=True)
        unaffected(inside, model)


def hurried(inside: Inside) -> Inside:
    """The same client with shorter timeouts."""
    for installed, short in SECONDS[inside.name].items():
        inside.rewrite(installed, short)
    # What the tests set besides makes Claude Code wait for its servers; a person's does not.
    environ = inside.start.environ | {"MCP_TIMEOUT": "1000"}
    return replace(inside, start=replace(inside.start, environ=environ))


def unaffected(inside: Inside, model: Model) -> None:
    """Check that the client works as it does without tildone."""
    ended = inside.run()

    assert ended.code == 0, ended
    assert ended.out.strip() == "Hello from the script.", ended
    assert len(model.asked) == 1
