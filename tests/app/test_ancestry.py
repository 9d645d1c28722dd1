"""Commands below the process of an agent, without its variables: still the agent's, as far as that can be known.

The agent is a real process that calls its hook, as a coding agent does, and then runs a shell of its model.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hooks.agent import Workspace, new_workspace
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")

SHEBANG = os.path.realpath(sys.executable)
HOST = f'''#!{SHEBANG}
"""A coding agent: it reports the start of its conversation, and runs one command line of its model."""
import json, os, subprocess, sys
event = {{"session_id": "c1", "cwd": os.getcwd(), "hook_event_name": "SessionStart"}}
subprocess.run([{str(PROGRAM)!r}, "hook", "claude"], input=json.dumps(event).encode(), check=True, stdout=-3)
shell = {{**os.environ, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c1"}}
done = subprocess.run(["sh", "-c", sys.argv[1]], env=shell, stdin=-3, stdout=-1, stderr=-1)
print(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]))
'''
REFUSED = "only a person can resume an agent: this is the shell of claude:c1\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = new_workspace(tmp_path)
    made.plan(("Write the parser", "pending"))
    return made


def typed(workspace: Workspace, line: str, program: str = "claude") -> tuple[int, str, str]:
    """What a command line of the model comes to, in an agent whose program has this name."""
    path = workspace.home / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HOST, encoding="utf-8")
    path.chmod(0o700)
    done = subprocess.run(
        [path, line],
        cwd=workspace.project,
        env={**os.environ, **workspace.environ},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done
    code, out, err = json.loads(done.stdout)
    return code, out, err


def scrubbed(workspace: Workspace, words: str, **more: str) -> str:
    """A command without the variables of the agent, and with these."""
    home = str(workspace.home)
    variables = {"PATH": os.environ["PATH"], "HOME": home, "XDG_DATA_HOME": home, **more}
    return f"env -i {' '.join(f'{name}={text}' for name, text in variables.items())} {PROGRAM} {words}"


def test_an_agent_is_known_by_its_process_whatever_its_environment(workspace: Workspace) -> None:
    store, elsewhere = workspace.settings.store.location, str(workspace.home / "elsewhere")
    lines = {
        "its variables": f"{PROGRAM} resume",
        "a scrubbed environment": scrubbed(workspace, "resume"),
        "its variables taken away": f"unset CLAUDECODE CLAUDE_CODE_SESSION_ID; {PROGRAM} resume",
        "another project": f"cd / && {scrubbed(workspace, f'resume --session {workspace.project}')}",
        "other folders": scrubbed(
            workspace, f"resume --session {workspace.project}", XDG_DATA_HOME=elsewhere, TILDONE_STORE=store
        ),
        "another session of processes": f"setsid -w {scrubbed(workspace, 'resume')}",
    }

    for case, line in lines.items():
        assert (case, *typed(workspace, line)) == (case, 3, "", f"tildone: {REFUSED}")


def test_an_agent_under_another_name_is_known_by_its_package_or_by_the_variables_of_its_shell(
    workspace: Workspace,
) -> None:
    line = scrubbed(workspace, "resume")

    for program in ("node_modules/@anthropic-ai/claude-code/cli.js", "my-agent"):
        assert (program, *typed(workspace, line, program)) == (program, 3, "", f"tildone: {REFUSED}")


def test_what_is_typed_below_an_agent_is_recorded_as_its_doing(workspace: Workspace) -> None:
    typed(workspace, scrubbed(workspace, "todo add Mine"))
    typed(workspace, scrubbed(workspace, 'call todo \'{"add": ["Called"]}\''))

    events = list(workspace.session.store.history(workspace.settings.session))[:2]
    assert [event.author.agent for event in events] == ["claude:c1", "claude:c1"]
    assert [task.from_user for task in workspace.session.plan.tasks] == [True, False, False]


def test_a_process_that_has_left_the_tree_is_known_by_its_variables_only(workspace: Workspace) -> None:
    """Without them, it is another process of the same user, which nothing tells from the person's."""
    left = "rm -f ended; mkfifo ended; setsid -f sh -c '{} resume >out 2>&1; echo $? >ended'; cat ended out"
    env = f"env -i PATH={os.environ['PATH']} HOME={workspace.home} XDG_DATA_HOME={workspace.home} {PROGRAM}"

    with_variables, without = (typed(workspace, left.format(each))[1] for each in (PROGRAM, env))

    assert with_variables == f"3\ntildone: {REFUSED}"
    assert without.startswith("0\n")


def test_a_folder_of_somebody_else_beside_the_store_is_left_alone(workspace: Workspace) -> None:
    agents = workspace.project / "agents" / "prompts"
    agents.mkdir(parents=True)

    code, _, _ = typed(workspace, f"{scrubbed(workspace, 'todo add Mine')} --store {workspace.project}/own.db")

    assert code == 0
    assert list(agents.iterdir()) == []
