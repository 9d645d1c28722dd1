"""What only a person may do, tried by an agent: every way in the table of acts and surfaces.

It is tried in the shell of an agent, in a process of a run that a worker holds, on a board that either started, and
by commands below the process of an agent, without its variables: still the agent's, as far as that can be known.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.hooks.agent import Workspace, new_workspace
from tests.host.models.model_server import ModelServer
from tests.rpc.client import Client
from tests.run.run_workspace import CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tests.web.boards import Place, board, place_in
from tildone.agents.integrations import INTEGRATIONS
from tildone.app.apply import Editor, Notice
from tildone.app.opening import check_approvals, run_leases, session_in
from tildone.app.who import FORM, IN_SHELLS_OF_AGENTS, OTHERS, QUESTION, WAYS, PersonAct, Surface
from tildone.base.ids import now
from tildone.cli.parsing import ROOT
from tildone.cli.table import Verb
from tildone.log.needs import Need
from tildone.plan.dialects import DIALECTS, tools_of
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Actor, Directive
from tildone.plan.model import Check, Task
from tildone.plan.ops import Append, Numbered, SetCheck
from tildone.plan.runs import LEASE_VARIABLE, Claimer, NewRun
from tildone.screens.board.app import WRITERS
from tildone.screens.run import KEYS as RUN_KEYS
from tildone.screens.run.app import ABOUT
from tildone.screens.watch.actions import KEYS, PLAN_KEYS

AGENT = {"CLAUDE_CODE_SESSION_ID": "s1", "AI_AGENT": "claude-code"}
CHECK = Check(("cp", "a", "made"))
NEED = "q1"
ARGUMENTS = {
    (Surface.COMMAND_LINE, "approve"): "1 --yes",
    (Surface.COMMAND_LINE, "todo check --remove"): "1",
    (Surface.COMMAND_LINE, "answer"): f"{NEED} yes",
    (Surface.COMMAND_LINE, "trust"): "--yes",
    (Surface.COMMAND_LINE, "uninstall"): "claude",
    (Surface.COMMAND_LINE, "prune"): "--older-than 1d --open --yes",
    (Surface.COMMAND_LINE, "restore"): "backup.db",
    **{(Surface.COMMAND_LINE, way): "--no-open" for way in ("board", "board --new-key")},
    **{(Surface.COMMAND_LINE, f"board token {act}"): "eve" for act in ("add", "remove")},
    (Surface.FLEET, "answer"): "nightly yes",
    (Surface.FLEET, "drain"): "--all",
}
"""What is typed after the verb, if not the name of the run."""

BODIES: dict[str, dict[str, object]] = {
    "/api/s/{key}/approve": {"number": 1, "command": list(CHECK.command)},
    "/api/s/{key}/check": {"number": 1, "line": "", "base": "cp a made"},
    "/api/s/{key}/directive": {"directive": "pause"},
    "/api/s/{key}/course": {"course": "pause"},
    "/api/needs/{item}": {"answer": "yes"},
    "/api/fleet/answer": {"run": "nightly", "question": "q", "answer": "yes", "seen": ""},
    "/api/fleet/ask": {"run": "nightly", "ask": "cancel"},
    "/api/fleet/ask-all": {"ask": "pause"},
    "/api/fleet/drain": {"worker": "here/1/a"},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A plan with a check that nobody has approved, a question that is open, and a run that a worker holds."""
    made = place_in(tmp_path)
    store, name = made.store(), made.settings().session
    session = session_in(store, name, BRIEF)
    session.change([Append((Task("One"), Task("Two")), "")], Actor.AGENT)
    session.change([SetCheck(Numbered((1,)), CHECK)], Actor.AGENT)
    store.records.ask(Need(NEED, name, "command", "rm -r build", ("yes", "no"), agent="tildone:1", since=now()))
    leases = run_leases(store)
    leases.add(NewRun("nightly", name))
    leases.claim(Claimer("here/1/a"), ["here/1/a/1"])
    store.close()
    (made.folder / "tildone.toml").write_text("max_nudges = 3\n")
    (made.folder / "a").touch()
    return made


@pytest.fixture
def shells(place: Place) -> dict[str, dict[str, str]]:
    """By the words of the refusal: the variables of an agent's shell, and of a process of a run."""
    [held] = run_leases(place.store()).active()
    return {
        "this is the shell of claude s1": AGENT,
        "this process works for the run nightly": {LEASE_VARIABLE: str(held.fence)},
    }


@pytest.fixture
def person(place: Place) -> Person:
    return Person(place.folder, place.home, place.environment())


def facts(place: Place) -> object:
    """What must be as before, whatever an agent tries."""
    store = place.store()
    name = place.settings().session
    need, [view] = store.records.need(NEED), run_leases(store).look("nightly")
    events, lease = [event.id for event in store.history(name)], view.lease
    is_allowed = check_approvals(place.settings()).is_allowed(CHECK)
    made = [path.exists() for path in (place.folder / "made", place.private_folder / "people.json")]
    return events, is_allowed, need and need.answer, (lease.state, lease.request, lease.epoch), made


@contextmanager
def changing_nothing(place: Place) -> Iterator[None]:
    before = facts(place)
    yield
    assert facts(place) == before


def ways(*surfaces: Surface) -> list[tuple[PersonAct, Surface, str]]:
    return [(act, where, way) for act, row in WAYS.items() for where in surfaces for way in row.get(where, ())]


def line(where: Surface, way: str) -> tuple[str, ...]:
    """What is typed after `tildone`."""
    verb = way.split() if where is Surface.COMMAND_LINE else ["fleet", way]
    return (*verb, *ARGUMENTS.get((where, way), "nightly" * (where is Surface.FLEET)).split())


TYPED = {act: line(where, way) for act, where, way in reversed(ways(Surface.COMMAND_LINE, Surface.FLEET))}
"""A command for each act."""


def verbs(verb: Verb) -> Iterator[str]:
    """The verbs that do something, each with the words before it."""
    for own in verb.verbs:
        yield from (f"{own.name} {name}" for name in verbs(own)) if own.verbs else (own.name,)


def without_options(way: str) -> str:
    """The verb of a way: `board token` has no verbs in the table of verbs, only words."""
    verb = way.partition(" --")[0]
    return "board" if verb.startswith("board ") else verb


def test_every_command_key_and_route_is_in_the_table(person: Person) -> None:
    """Whoever adds one decides whether it is for persons only."""
    typed = set(verbs(ROOT))
    rpc = {f"/{name}" for name in (*ABOUT, *run_commands(person))}
    there = {
        Surface.COMMAND_LINE: {verb for verb in typed if not verb.startswith("fleet ")},
        Surface.FLEET: {verb.removeprefix("fleet ") for verb in typed if verb.startswith("fleet ")},
        Surface.WATCH: {key.name for key in KEYS},
        Surface.BOARD: set(WRITERS),
        Surface.MCP: {FORM, *(tool for dialect in DIALECTS for tool in tools_of(dialect))},
        Surface.RUN: {QUESTION, *rpc, *(key.name for key in PLAN_KEYS)},
    }
    listed = {
        where: {*map(without_options, OTHERS[where]), *(without_options(way) for *_, way in ways(where))}
        for where in Surface
    }
    listed[Surface.RUN] -= {"/todo check"}

    assert set(WAYS) == set(PersonAct)
    assert listed == there
    of_pane = {key.name for key in RUN_KEYS} & {key.name for key in KEYS}
    assert of_pane == {key.name for key in PLAN_KEYS}


def run_commands(person: Person) -> list[str]:
    with running(person, {}) as client:
        return [command["name"] for command in client.ask("get_commands")["data"]["commands"]]


@contextmanager
def running(person: Person, shell: Mapping[str, str], *turns: dict[str, Any]) -> Iterator[Client]:
    """`tildone run` for a client of RPC, with a model that takes these turns."""
    with ModelServer(*turns, {"text": "I stop.", "repeat": True}) as server:
        more = {**provider_environment(server), "NO_PROXY": "127.0.0.1", "TILDONE_COUNTDOWN": "0", **shell}
        command = [str(PROGRAM), "run", "--mode", "rpc", "--model", CHAT, "--dialect", "brief", "--max-nudges", "0"]
        pipe, null, own = subprocess.PIPE, subprocess.DEVNULL, person.environment(more)
        with subprocess.Popen(command, cwd=person.folder, env=own, stdin=pipe, stdout=pipe, stderr=null) as process:
            try:
                yield Client(process)
            finally:
                process.kill()


def test_what_an_agent_types_is_refused(place: Place, person: Person, shells: dict[str, dict[str, str]]) -> None:
    with board(place), changing_nothing(place):
        for act, where, way in ways(Surface.COMMAND_LINE, Surface.FLEET):
            for reason, shell in shells.items():
                if shell is AGENT and act in IN_SHELLS_OF_AGENTS:
                    continue
                answer = person.run(*line(where, way), **shell)

                assert answer.code == 3, (act, way, shell, answer)
                assert f"only a person can {act.value}: {reason}" in answer.err, (way, answer)


def test_a_check_that_an_agent_sets_is_only_proposed(
    place: Place, person: Person, shells: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed, or on a screen."""
    for reason, shell in shells.items():
        with monkeypatch.context() as patched:
            for name, text in shell.items():
                patched.setenv(name, text)
            settings = place.settings()
            notice = Editor(settings, place.store()).set_check(settings.session, 2, "cp a made", None)
        assert notice.text == "#2 has a check that a person has to approve: cp a made"
        answer = person.run("todo", "check", "2", "--", *CHECK.command, **shell)

        assert answer.code == 0, answer
        assert f"the check is only proposed, because {reason}; a person approves it with: " in answer.err
        assert not check_approvals(place.settings()).is_allowed(CHECK)


DIRECTIVES = {"pause": Directive.PAUSE, "stop": Directive.STOP, "resume": Directive.GO}


def screen_acts(editor: Editor, name: str) -> dict[str, Notice]:
    """What each key of a screen hands to the editor."""
    keys = [(f"watch.{word}{whom}", each) for word, each in DIRECTIVES.items() for whom in ("", "Agent")]
    return {key: editor.steer(name, directive) for key, directive in keys} | {
        "task.approve": editor.approve(name, CHECK),
        "task.check": editor.set_check(name, 1, "", CHECK),
        "plan.check": editor.set_check(name, 0, "", None),
        "watch.answer": editor.answer(NEED, "yes"),
    }


def test_the_keys_of_screens_do_nothing_for_an_agent(
    place: Place, shells: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [(act, way) for act, _, way in ways(Surface.WATCH, Surface.RUN) if "." in way]
    for reason, shell in shells.items():
        with monkeypatch.context() as patched, changing_nothing(place):
            for name, text in shell.items():
                patched.setenv(name, text)
            settings = place.settings()
            notices = screen_acts(Editor(settings, place.store()), settings.session)

            assert set(notices) == {way for _, way in keys}
            for act, way in keys:
                assert notices[way].text == f"Only a person can {act.value}: {reason}", way


def test_a_board_that_an_agent_started_can_be_looked_at_and_not_used(
    place: Place, shells: dict[str, dict[str, str]]
) -> None:
    """Its link and its cookie open no board of a person, whose own are refused without one."""
    assert {way for *_, way in ways(Surface.BOARD)} == set(BODIES)
    with board(place) as own:
        persons = own.browser()
        [seen] = persons.get("/api/sessions").json["sessions"]
        stranger = type(persons)(own.port, "", {})
        own_board = [path.format(key=seen["key"], item=NEED) for path in WRITERS]
        with changing_nothing(place):
            assert {stranger.post(path, {}).status for path in own_board} == {401}
    for reason, shell in shells.items():
        with changing_nothing(place), board(Place(place.folder, place.home, {**place.environ, **shell})) as started:
            browser = started.browser()
            assert browser.get(f"/api/s/{seen['key']}").status in (200, 404)
            [session] = browser.get("/api/sessions").json["sessions"]
            for path in WRITERS:
                answered = browser.post(path.format(key=session["key"], item=NEED), BODIES.get(path, {}))
                assert answered.status == 403, (path, answered)
                assert answered.json["hint"] == f"It was started by an agent: {reason}."
            with board(place) as own:
                cookie = browser.headers["Cookie"].replace(str(started.port), str(own.port))
                headers = {**browser.headers, "Cookie": cookie}
                assert type(browser)(own.port, "", headers).get("/api/sessions").status == 401
                assert type(browser)(own.port, "", {}).post("/api/in", {"token": started.token}).status == 401


def test_a_client_of_mcp_in_the_shell_of_an_agent_is_not_asked(
    place: Place, person: Person, shells: dict[str, dict[str, str]]
) -> None:
    """A client of a person is, and one that a coding agent has given the variables of its shells."""
    assert ways(Surface.MCP) == [(PersonAct.APPROVE, Surface.MCP, FORM)]
    for shell in shells.values():
        with changing_approvals(place, approved=False):
            assert FORM not in done_over_mcp(person, shell)
    person.says("todo", "unblock", "1")
    with changing_approvals(place, approved=True):
        assert FORM in done_over_mcp(person, {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"})


@contextmanager
def changing_approvals(place: Place, *, approved: bool) -> Iterator[None]:
    yield
    assert check_approvals(place.settings()).is_allowed(CHECK) is approved
    assert (place.folder / "made").exists() is approved


def done_over_mcp(person: Person, shell: Mapping[str, str]) -> list[str]:
    """Call the first task done, and say yes to everything. Return the methods of the requests that came."""
    asked = []
    command, pipe, own = [str(PROGRAM), "mcp", "--dialect", "brief"], subprocess.PIPE, person.environment(dict(shell))
    with subprocess.Popen(command, cwd=person.folder, env=own, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout

        def send(**message: object) -> None:
            assert process.stdin
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()

        info = {"name": "x", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": info}
        send(id="hello", method="initialize", params=hello)
        send(id="done", method="tools/call", params={"name": "todo", "arguments": {"done": 1}})
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == "done":
                break
            if "method" in message:
                asked.append(message["method"])
                send(id=message.get("id"), result={"action": "accept", "content": {"approve": True}})
        process.stdin.close()
    return asked


def test_what_an_agent_types_in_a_run_that_it_started_is_refused(
    place: Place, person: Person, shells: dict[str, dict[str, str]]
) -> None:
    """Nor is it asked whether a check may be run. A person who types the same there is obeyed."""
    typed = [(act, way) for act, _, way in ways(Surface.RUN) if way.startswith("/")]
    assert (PersonAct.APPROVE, Surface.RUN, QUESTION) in ways(Surface.RUN)
    done = {"tool": "todo", "args": {"done": 1}}
    for reason, shell in shells.items():
        with running(person, shell, done) as client, changing_approvals(place, approved=False):
            for act, way in typed:
                client.send(type="prompt", message=f"{way} 1" if way.startswith("/todo") else way)
                said = client.until(lambda record: record.get("method") == "notify")
                assert f"only a person can {act.value}: {reason}" in said["message"], (way, said)
            client.ask("prompt", message="Go")
            client.event("agent_end")
            assert not [record for record in client.records if record.get("method") == "select"]
    person.says("todo", "unblock", "1")
    # Not forked by the tests: it is recognised by its name among the processes above the command that it runs.
    with running(person, {"PYTHONUTF8": "1"}, done) as client, changing_approvals(place, approved=True):
        client.send(type="prompt", message="/pause")
        assert "Paused" in client.until(lambda record: record.get("method") == "notify")["message"]
        client.send(type="prompt", message="Go")
        question = client.until(lambda record: record.get("method") == "select")
        client.send(type="extension_ui_response", id=question["id"], value=question["options"][1])
        client.event("agent_end")
    [paused] = [line for line in person.says("log").splitlines() if "pause" in line]
    assert "  Ada  " in paused


def test_every_coding_agent_marks_the_shells_of_its_model(person: Person) -> None:
    """An agent that nobody knows is no person either."""
    shells = [("AI_AGENT", "newcomer", "pid")]
    for name, known in INTEGRATIONS.entries.items():
        variables = [*filter(None, [known.conversation]), *known.marks]
        assert bool(variables) != bool(known.unmarked)
        shells += [(variable, "1", name) for variable in variables]

    for variable, text, name in shells:
        answer = person.run("resume", **{variable: text})
        assert (answer.code, f"this is the shell of {name} " in answer.err) == (3, True), (variable, answer)
    assert person.run("resume", AI_AGENT="claude-code_2-1-197_harness").code == 0


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
REFUSED = "only a person can resume an agent: this is the shell of claude c1\n"


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
    environ = {**os.environ, **workspace.environ}
    done = subprocess.run(
        [path, line], cwd=workspace.project, env=environ, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done
    code, out, err = json.loads(done.stdout)
    return code, out, err


def linked(workspace: Workspace) -> Path:
    """A link to the program, because the path of the checkout may have spaces."""
    link = workspace.home / "linked" / "tildone"
    if not link.exists():
        link.parent.mkdir(parents=True)
        link.symlink_to(PROGRAM)
    return link


def scrubbed(workspace: Workspace, words: str, **more: str) -> str:
    """A command without the variables of the agent, and with these."""
    home = str(workspace.home)
    variables = {"PATH": os.defpath, "HOME": home, "XDG_DATA_HOME": home, **more}
    return f"env -i {' '.join(f'{name}={text}' for name, text in variables.items())} {linked(workspace)} {words}"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_an_agent_is_known_by_its_process_whatever_its_environment(workspace: Workspace) -> None:
    store, elsewhere = workspace.settings.store.location, str(workspace.home / "elsewhere")
    lines = {
        "its variables": f"{linked(workspace)} resume",
        "a scrubbed environment": scrubbed(workspace, "resume"),
        "its variables taken away": f"unset CLAUDECODE CLAUDE_CODE_SESSION_ID; {linked(workspace)} resume",
        "another project": f"cd / && {scrubbed(workspace, f'resume --session {workspace.project}')}",
        "other folders": scrubbed(
            workspace, f"resume --session {workspace.project}", XDG_DATA_HOME=elsewhere, TILDONE_STORE=store
        ),
        "another session of processes": f"setsid -w {scrubbed(workspace, 'resume')}",
    }

    for case, line in lines.items():
        assert (case, *typed(workspace, line)) == (case, 3, "", f"tildone: {REFUSED}")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_an_agent_under_another_name_is_known_by_its_package_or_by_the_variables_of_its_shell(
    workspace: Workspace,
) -> None:
    line = scrubbed(workspace, "resume")

    for program in ("node_modules/@anthropic-ai/claude-code/cli.js", "my-agent"):
        assert (program, *typed(workspace, line, program)) == (program, 3, "", f"tildone: {REFUSED}")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_what_is_typed_below_an_agent_is_recorded_as_its_doing(workspace: Workspace) -> None:
    typed(workspace, scrubbed(workspace, "todo add Mine"))
    typed(workspace, scrubbed(workspace, 'call todo \'{"add": ["Called"]}\''))

    events = list(workspace.session.store.history(workspace.settings.session))[:2]
    assert [event.author.agent for event in events] == ["claude:c1", "claude:c1"]
    assert [task.from_user for task in workspace.session.plan.tasks] == [True, False, False]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_a_process_that_has_left_the_tree_is_known_by_its_variables_only(workspace: Workspace) -> None:
    """Without them, it is another process of the same user, which nothing tells from the person's."""
    left = "rm -f ended; mkfifo ended; setsid -f sh -c '{} resume >out 2>&1; echo $? >ended'; cat ended out"
    program = linked(workspace)
    env = f"env -i PATH={os.defpath} HOME={workspace.home} XDG_DATA_HOME={workspace.home} {program}"

    with_variables, without = (typed(workspace, left.format(each))[1] for each in (program, env))

    assert with_variables == f"3\ntildone: {REFUSED}"
    assert without.startswith("0\n")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_a_folder_of_somebody_else_beside_the_store_is_left_alone(workspace: Workspace) -> None:
    agents = workspace.project / "agents" / "prompts"
    agents.mkdir(parents=True)

    code, _, _ = typed(workspace, f"{scrubbed(workspace, 'todo add Mine')} --store {workspace.project}/own.db")

    assert code == 0
    assert list(agents.iterdir()) == []
