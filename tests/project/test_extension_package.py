"""The package of `docs/examples`, installed into a fresh environment with tildone, and used by `tildone run`.

The environment has the built wheel of tildone, and the packages of the test environment for everything else. The model
is scripted behind its real wire protocol on loopback.
"""

import ast
import json
import re
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person, new_person
from tests.host.models.model_server import ModelServer, Turn
from tests.project.fresh_environment import build_wheel, make_environment, pip_install, run
from tests.project.source import ROOT
from tests.run.run_workspace import CHAT, json_lines, provider_environment
from tildone.run.host import ExtensionAPI, ExtensionContext

PACKAGE = ROOT / "docs" / "examples" / "tildone_follow"
PAGES = "".join(
    (ROOT / "docs" / page).read_text(encoding="utf-8")
    for page in ("tutorial/your-first-extension.md", "how-to/write-a-tool.md")
)
HANDLES = ("api", "ctx", "ctx.ui", "signal")
FOLLOW: Turn = {"tool": "follow", "args": {"path": "server.log", "text": "ready"}}
WAIT_SECONDS = 60


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with tildone and the package."""
    wheel = build_wheel(tmp_path_factory.mktemp("tildone wheel"))
    programs, packages = make_environment(tmp_path_factory.mktemp("extension environment"), wheel)
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    source = tmp_path_factory.mktemp("source") / PACKAGE.name
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip_install(programs, "--no-deps", "--no-build-isolation", str(source))
    return programs


@dataclass(frozen=True, slots=True)
class Run:
    """A running `tildone run` of the environment, in the folder of a person."""

    process: "subprocess.Popen[str]"

    def events(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        yield from map(json.loads, self.process.stdout)

    def send(self, **request: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()

    def next(self, kind: str) -> dict[str, Any]:
        """Return the next event of a kind."""
        return next(event for event in self.events() if event["type"] == kind)


@dataclass(frozen=True, slots=True)
class User:
    """A person who uses the environment."""

    person: Person
    programs: Path

    @property
    def folder(self) -> Path:
        return self.person.folder

    def command(self, *words: str) -> list[str]:
        return [str(self.programs / "tildone"), "run", *words, "--model", CHAT]

    def finished(self, server: ModelServer, *words: str) -> str:
        """Return what a run prints that succeeds."""
        environ = self.person.environment(provider_environment(server))
        return run(*self.command(*words), cwd=self.folder, **environ)

    @contextmanager
    def started(self, server: ModelServer, *words: str) -> Iterator[Run]:
        environ = self.person.environment(provider_environment(server))
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self.command(*words), cwd=self.folder, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        ) as process:
            try:
                yield Run(process)
            finally:
                process.kill()


@pytest.fixture
def user(tmp_path: Path, programs: Path) -> User:
    return User(new_person(tmp_path, NO_COLOR="1", NO_PROXY="127.0.0.1", TILDONE_COUNTDOWN="0"), programs)


def test_the_package_uses_only_what_the_pages_name() -> None:
    """Whoever reads the tutorial and the guide to tools can write it."""
    tree = ast.parse((PACKAGE / "tildone_follow.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    used = {name.name for node in imports if (node.module or "").startswith("tildone") for name in node.names}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used |= {f"{ast.unparse(node.value)}.{node.attr}" for node in attributes if ast.unparse(node.value) in HANDLES}

    assert len(used) > 15
    assert sorted(name for name in used if not re.search(rf"\b{re.escape(name)}\b", PAGES)) == []


def test_the_pages_name_every_member() -> None:
    kinds = {"api": ExtensionAPI, "ctx": ExtensionContext}
    members = [f"{handle}.{name}" for handle, kind in kinds.items() for name in vars(kind) if name[0] != "_"]

    assert [name for name in members if name not in PAGES] == []


@pytest.mark.slow
def test_the_installed_package_is_listed(user: User) -> None:
    tildone = str(user.programs / "tildone")

    listed = json.loads(run(tildone, "extensions", "--json", cwd=user.folder, **user.person.environment({})))

    [follow] = listed["extensions"]
    assert (follow["name"], follow["origin"], follow["named_by"]) == ("follow", "package", "tildone-follow 1.0")
    assert (follow["tools"], follow["replaced"], follow["commands"]) == (["read", "follow"], ["read"], ["followed"])
    where = run(str(user.programs / "python"), "-c", "import tildone; print(tildone.__file__)", cwd=user.folder)
    assert where.startswith(str(user.programs.parent))


@pytest.mark.slow
def test_calls_and_results_are_shown_by_the_renderers_of_the_package(user: User) -> None:
    (user.folder / "server.log").write_text("starting\nready on 80\n", encoding="utf-8")
    with ModelServer(FOLLOW, {"text": "It is up."}) as server:
        shown = user.finished(server, "Wait for the server")

    assert 'Follow: "server.log" text=ready\n  Found: line 2\n' in shown
    assert "It is up." in shown
    assert "Line 2: ready on 80" in json.dumps(server.requests[1].messages)
    system = json.dumps(server.requests[0].messages[0])
    assert "Wait for a line in a log" in system
    assert "Use follow instead of reading a log again and again" in system


@pytest.mark.slow
def test_the_overridden_tool_refuses_some_calls_and_delegates_the_others(user: User) -> None:
    (user.folder / "server.key").write_text("hidden\n", encoding="utf-8")
    (user.folder / "notes.txt").write_text("plain words\n", encoding="utf-8")
    reads = {"tools": [["read", {"path": "server.key"}], ["read", {"path": "notes.txt"}]]}
    with ModelServer(reads, {"text": "Read."}) as server:
        events = json_lines(user.finished(server, "Read both", "--mode", "json"))

    ends = [event for event in events if event["type"] == "tool_execution_end"]
    texts = {end["result"]["content"][0]["text"].strip(): end["isError"] for end in ends}
    assert texts == {'"server.key" holds a key. Ask the person for what you need from it.': True, "plain words": False}


@pytest.mark.slow
def test_partial_results_are_streamed_while_the_tool_works(user: User) -> None:
    """The file is completed only after the first partial result has arrived."""
    log = user.folder / "server.log"
    log.write_text("starting\n", encoding="utf-8")
    with ModelServer(FOLLOW, {"text": "It is up."}) as server, user.started(server, "Go", "--mode", "json") as running:
        update = running.next("tool_execution_update")
        log.write_text("starting\nready on 80\n", encoding="utf-8")
        end = running.next("tool_execution_end")
        assert running.process.wait(WAIT_SECONDS) == 0

    assert update["partialResult"]["content"][0]["text"] == "1 line so far"
    assert (end["isError"], end["result"]["details"]) == (False, {"line": "ready on 80", "number": 2})


@pytest.mark.slow
def test_an_abort_of_a_client_reaches_the_tool_and_the_command_answers(user: User) -> None:
    with ModelServer(FOLLOW) as server, user.started(server, "--mode", "rpc") as running:
        running.send(type="prompt", message="Wait for the server")
        running.next("tool_execution_update")
        running.send(type="abort")
        end = running.next("tool_execution_end")
        running.next("agent_settled")
        running.send(type="prompt", message="/followed")
        notice = next(each for each in running.events() if each.get("method") == "notify")

    assert end["isError"]
    assert end["result"]["content"][0]["text"].startswith('Stopped following "server.log" (')
    assert notice["message"] == "Nothing was followed yet"


@pytest.mark.slow
def test_a_signal_reaches_the_tool(user: User) -> None:
    with ModelServer(FOLLOW) as server, user.started(server, "Go", "--mode", "json") as running:
        running.next("tool_execution_update")
        running.process.send_signal(signal.SIGINT)
        end = running.next("tool_execution_end")
        code = running.process.wait(WAIT_SECONDS)

    assert end["result"]["content"][0]["text"] == 'Stopped following "server.log" (interrupted)'
    assert code == 130
