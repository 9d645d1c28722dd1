"""In a real client, what its model used is on the task that it worked on, as far as the client tells it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.clients.driving import HEADLESS, ActingModel, MakeSandbox, conversation, shell
from tests.clients.inside import TASK, install
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

ADD: Turn = {"tool": "todo", "args": {"add": ["Lexer", "Grammar"]}}
START: Turn = {"tool": "todo", "args": {"start": 1}}
FINISH: Turn = {"tool": "todo", "args": {"done": 1}}
DROP: Turn = {"tool": "todo", "args": {"drop": 2}}
ALL: Turn = {"text": "All of it is done."}

USED = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
TOKENS: Mapping[str, int | None] = {"claude": None, "codex": None, "gemini": None, "opencode": 1215, "pi": 1215}
"""The tokens of a request of 1200 tokens and of one of 15; None if the hooks of the client do not tell them.

opencode tells what a request used only after its tools have run, so that the task has the request that started it, and
not the one that finished it.
"""


@pytest.mark.parametrize("name", TOKENS)
def test_the_tokens_of_a_request_are_on_the_task_that_was_in_progress(name: str, make_sandbox: MakeSandbox) -> None:
    work = shell(name, "true", usage=USED)
    with ActingModel(name, HEADLESS, ADD, START, work, FINISH, DROP, ALL) as model:
        client = install(name, make_sandbox(model))
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    first, second = tasks(client.tildone("stats", "--json"))
    assert first["in_progress_ms"] > 0
    assert first["tokens"] == TOKENS[name]
    assert (second["tokens"] or 0) < 1000


def tasks(stats: str) -> list[dict[str, Any]]:
    """The tasks of the statistics."""
    found: list[dict[str, Any]] = json.loads(stats)["tasks"]
    return found
