"""tildone in a real client at a terminal: the same as without one, and what the person sees."""

from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox
from tests.clients.inside import CLIENTS, GO_ON, TASK, PatientModel, last_message
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.clients.tui import FOLDER, PROMPTS, WAIT, at_terminal, install_for_terminal
from tests.host.models.model_server import Turn
from tests.walks import tmux
from tildone.agents.integrations import INTEGRATIONS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(tmux.why_not() is not None, reason=str(tmux.why_not())),
]
MakeSandbox = Callable[[Model], Sandbox]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
NUDGES = 3
"""How often an agent is continued that does nothing and repeats the same message."""

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@pytest.mark.long
@proves("held", "finished", tui=True)
def test_an_agent_at_a_terminal_is_continued_until_its_plan_is_done(name: str, make_sandbox: MakeSandbox) -> None:
    """After the questions of the first start; the person sees that the agent was told to go on."""
    with PatientModel(PLAN, STOP, FINISH, ALL, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until(ALL["text"])
            shown = screen.screen

    assert [GO_ON in last_message(request) for request in model.requests] == [False, False, True, False]
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]
    assert GO_ON in shown


@in_every_client
@pytest.mark.long
@proves("released", tui=True)
def test_a_person_at_a_terminal_sees_that_an_agent_without_progress_was_released(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """After a few nudges, the client shows why it was let go."""
    with PatientModel(PLAN, {**STOP, "repeat": True}, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until("tildone lets the agent go: stopped 3 times more with the same words")

    assert [GO_ON in last_message(request) for request in model.requests] == [False, False] + [True] * NUDGES
    assert client.tasks == [("Write the parser", "pending"), ("Wire it up", "pending")]


@pytest.mark.parametrize("name", ["claude", "pi"])
@pytest.mark.long
@proves("status line", tui=True)
def test_the_plan_is_on_the_screen_all_the_time(name: str, make_sandbox: MakeSandbox) -> None:
    """In the client's status line, which follows the plan."""
    first, second = {"text": "Which of the two first?"}, {"text": "Shall I go on?"}
    with PatientModel(PLAN, first, {"tool": "todo", "args": {"done": 1}}, second, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until("✓ 0/2 · #1 Write the parser")
            screen.until(first["text"])
            screen.say("The first one.")
            screen.until("✓ 1/2 · #2 Wire it up")


@in_every_client
@pytest.mark.parametrize("scope", ["user", pytest.param("project", marks=pytest.mark.long)])
@pytest.mark.long
@proves("start prompts", tui=True)
def test_a_client_asks_what_install_says_that_it_will_ask(name: str, scope: str, make_sandbox: MakeSandbox) -> None:
    """At the first start in a new folder; after that, the tool is there."""
    with PatientModel(PLAN, FINISH, ALL, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model), scope, new_folder=True)
        if name == "gemini":
            # It applies the answer when it starts again, which it does not do by itself in this environment.
            with at_terminal(client, works=False):
                pass
        with at_terminal(client, again=name == "gemini") as screen:
            screen.say(TASK)
            screen.until(ALL["text"])

    # The question about the folder comes without tildone, too, and matters only where the settings are in the folder.
    asked = [prompt.name for prompt in PROMPTS[name, scope] if scope == "project" or prompt.name != FOLDER]
    announced = INTEGRATIONS[name].prompts.get(scope, ())
    assert [said.startswith(name) for said, name in zip(announced, asked, strict=True)] == [True] * len(asked)
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]
