"""tildone and other todo lists, measured by running them: `python -m bench --only peers`.

The peers are installed in named versions, with npm or pip, into the user's cache. What cannot be installed is skipped
with the reason. Three things are measured:

- tokens: ten tasks are added, then each is started and completed. Counted are the definitions of all tools that the
  server lists, each call and each answer, as in `bench.tokens`. The path of the project counts as `PROJECT`.
- updates lost: eight clients, each with an MCP server of its own, add tasks to one list at the same time. Lost is a
  task whose addition was confirmed and that is not in the list afterwards.
- cold starts: the time of a command that shows the list, as a multiple of that of `python -I -c pass`. The commands
  take turns.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Barrier

from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench.cold import BASE
from bench.mcp import Refused, Server, bare
from bench.measure import Figure, medians
from bench.peer_lists import HERE, NPM, PEERS, Peer
from bench.tokens import TASKS, Call, Workload
from bench.wire import compact

CLIENTS = 8
PROJECT = "/home/me/project"


class NotInstalledError(Exception):
    """A peer cannot be installed here; the message says why."""


def rows(folder: Path, rounds: int, changes: int) -> Iterator[Figure]:
    """Tokens and lost updates of each list as soon as they are measured, then all cold starts."""
    cold: dict[str, Callable[[], object]] = {BASE: bare({**os.environ}, 1)}
    for number, peer in enumerate(PEERS):
        try:
            programs = installed(peer, cache())
        except NotInstalledError as error:
            yield Figure(peer.name, peer.source, skipped=str(error))
            continue
        project = Project(peer, programs, folder / f"{number}")
        if peer.serve:
            yield tokens(project)
        if peer.serve and peer.add:
            yield updates_lost(Project(peer, programs, folder / f"{number}-shared"), changes)
        if peer.command:
            cold[peer.name] = partial(project.run, peer.command)
    say("measuring cold starts")
    base_took, *taken = medians(list(cold.values()), rounds)
    for name, took in zip(list(cold)[1:], taken, strict=True):
        yield Figure(f"cold: {name}", BASE, f"{took / base_took:.1f} times")


def cache() -> Path:
    """The folder that peers are installed in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tildone-bench"


def installed(peer: Peer, cache: Path) -> Path:
    """Install a peer if it is not installed yet, and return the folder of its programs.

    Raises:
        NotInstalledError: a program that is needed is missing, or the installation fails.
    """
    if peer.source == HERE:
        return Path(sys.executable).parent
    place = cache / re.sub(r"[^\w.]+", "-", peer.name)
    programs = place / ("node_modules/.bin" if peer.source == NPM else "bin")
    if (place / "installed").exists():
        return programs
    if peer.source == NPM and not (shutil.which("node") and shutil.which("npm")):
        raise NotInstalledError("it needs node and npm")
    say(f"installing {peer.name} into {place}, which can take minutes")
    npm = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", *peer.packages]
    pip = [str(programs / "python"), "-m", "pip", "install", *peer.packages]
    for words in [npm] if peer.source == NPM else [[sys.executable, "-m", "venv", str(place)], pip]:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            reasons = (line for line in done.stderr.splitlines() if "error" in line.lower())
            raise NotInstalledError(f"{peer.source}: {next(reasons, done.stderr.strip()[-100:])}")
    (place / "installed").touch()
    return programs


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a list of a peer, which is made with it."""

    peer: Peer
    programs: Path
    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir()
        for name, content in self.peer.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        if self.peer.prepare:
            self.run(self.peer.prepare)

    @property
    def environ(self) -> dict[str, str]:
        """Nothing of the user's own: settings and data are found in an empty home."""
        own = ("XDG_", "TILDONE_", "NODE_EXTRA_CA_CERTS", "PYTHONDONTWRITEBYTECODE")
        home = self.folder.with_name("home")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        # An installed tildone has compiled bytecode; so has this one after its first start.
        environ |= {"HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
        return environ | {
            name: value.replace("{folder}", str(self.folder)) for name, value in self.peer.environ.items()
        }

    def words(self, words: Sequence[str]) -> list[str]:
        """A command of the peer, with the path of its program."""
        program, *rest = words
        return [str(self.programs / program), *(word.replace("{folder}", str(self.folder)) for word in rest)]

    def run(self, words: Sequence[str]) -> str:
        done = subprocess.run(
            self.words(words), cwd=self.folder, env=self.environ, check=True, capture_output=True, text=True
        )
        return done.stdout

    def server(self) -> Server:
        words = self.words(self.peer.serve)
        return Server(words, self.environ, greet=False, cwd=self.folder, stderr=subprocess.DEVNULL)

    def content(self) -> str:
        """The list as it is stored, or as a command exports it."""
        if self.peer.export:
            return self.run(self.peer.export)
        return "\n".join(path.read_text(encoding="utf-8") for path in self.folder.rglob("*") if path.is_file())


def tokens(project: Project) -> Figure:
    """Run the workload through the MCP server, and count."""
    peer, folder, tokenizer = project.peer, str(project.folder), openai.o200k_base()

    def size(text: str) -> int:
        return int(tokenizer.count(text.replace(folder, PROJECT)))

    written: list[int] = []
    answered: list[int] = []
    with project.server() as server:
        server.greet()
        tools = server.list_tools()
        schema = sum(size(compact(_definition(tool))) for tool in tools)
        for (tool, arguments), answer in made(peer.calls(folder), server):
            written.append(size(compact({"name": tool, "arguments": arguments})))
            answered.append(size(answer))
    assert not peer.finished or project.content().count(peer.finished) == len(TASKS), project.content()
    workload = Workload(peer.name, schema, tuple(written), tuple(answered))
    return Figure(f"tokens: {peer.name}, {len(written)} calls", workload.parts, f"{workload.total:,}")


def made(calls: Generator[Call, str, None], server: Server) -> Iterator[tuple[Call, str]]:
    """Make the calls of a workload, and yield each with its answer."""
    call = next(calls)
    while True:
        answer = server.call(*call)
        yield call, answer
        try:
            call = calls.send(answer)
        except StopIteration:
            return


def updates_lost(project: Project, changes: int) -> Figure:
    """Let eight clients add tasks at the same time, and look for what was confirmed."""
    add, begin = project.peer.add, Barrier(CLIENTS)
    assert add

    def confirmed(client: int, server: Server) -> list[str]:
        server.list_tools()
        begin.wait()
        texts = [f"Task {client}-{number:03} of many" for number in range(changes // CLIENTS)]
        return [text for text in texts if _is_confirmed(server, add([text], str(project.folder)), project.peer.task_id)]

    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        servers = [stack.enter_context(project.server()) for _ in range(CLIENTS)]
        for server in servers:
            server.greet()
        found = [text for texts in pool.map(confirmed, range(CLIENTS), servers) for text in texts]
    content = project.content()
    lost = sum(text not in content for text in found)
    parts = f"{len(found)} of {changes} confirmed, {CLIENTS} processes"
    return Figure(f"updates lost: {project.peer.name}", parts, str(lost))


def _is_confirmed(server: Server, call: Call, pattern: str) -> bool:
    try:
        answer = server.call(*call)
    except Refused:
        return False
    return bool(re.search(pattern, answer))


def _definition(tool: dict[str, object]) -> dict[str, object]:
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["inputSchema"]}


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
