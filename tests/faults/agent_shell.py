"""An agent's shell: every act that only a person may do, typed by every coding agent, in every way out that is known.

The agent is a real process with the name of its program, which calls its hook, as the coding agent does, and then runs
the command lines of its model in shells with its variables. A line gets through if it succeeds, or leaves a trace.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.app.test_who import TYPED
from tests.faults.tally import Plan, Tally
from tests.hooks.agent import WITH_HOOKS, HookedAgent, Workspace
from tests.suite.forking import PROGRAM
from tests.web.boards import Place, board, place_in
from tildone.agents.integrations import INTEGRATIONS, HookPoint
from tildone.app.who import IN_SHELLS_OF_AGENTS, PersonAct
from tildone.plan.events import DirectiveSet
from tildone.plan.model import Check, Task
from tildone.plan.ops import Append, Numbered, SetCheck

CONVERSATION = "c1"
TIMEOUT_SECONDS = 3600
REFUSED = 3
LINE_SECONDS = 60
"""A line that takes longer counts as one that got through: it may serve a board."""

HOST = f'''#!{os.path.realpath(sys.executable)}
"""A coding agent: it calls its hook, and runs the command lines of its model, each in a shell with its variables."""
import json, subprocess, sys
asked = json.load(sys.stdin)
subprocess.run(asked["hook"], input=asked["event"].encode(), stdout=-3, stderr=-3)
for line, environ in asked["lines"]:
    done = subprocess.run(["sh", "-c", line], env=environ, stdin=-3, stdout=-1, stderr=-1)
    print(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]), flush=True)
'''
LEFT = "rm -f ended out; mkfifo ended; setsid -f sh -c {line}; read code <ended; cat out >&2; exit $code"
"""Runs a line in a process that is no longer below this one, and waits for it."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to type a command: what stands before it, or around it, and the environment of the shell.

    Acts whose names begin with one of `without` have nothing to act on there: no board runs, or there is no such file.
    """

    name: str
    environ: dict[str, str]
    before: str = ""
    around: str = "{line}"
    without: tuple[str, ...] = ()
    is_known: bool = True

    def line(self, words: tuple[str, ...]) -> str:
        typed = f"{self.before} timeout {LINE_SECONDS} {shlex.join([str(PROGRAM), *words])}".strip()
        if self.around is not LEFT:
            return self.around.format(line=typed)
        return LEFT.format(line=shlex.quote(f"{typed} >out 2>&1; echo $? >ended"))


Trial = tuple[PersonAct, Way]
"""One act, typed in one way."""


@dataclass(frozen=True, slots=True)
class Shell:
    """A place with a plan that has a check, and a coding agent there."""

    place: Place
    name: str
    variables: dict[str, str] = field(default_factory=dict)

    def ways(self) -> Iterator[Way]:
        """The ways that are tried, the last one of which nothing can prevent."""
        base = self.place.environment()
        marked = {**base, **self.variables}
        other = str(self.place.home / "elsewhere")
        settings = self.place.settings()
        scrubbed = _scrubbed(base)
        named = {"TILDONE_STORE": settings.store.location, "TILDONE_SESSION": settings.session}
        own_path = {"PATH": f"{self.place.folder / 'bin'}:{base['PATH']}"}
        yield Way("its variables", marked)
        for variable, text in self.variables.items():
            yield Way(f"only {variable}", {**base, variable: text})
        yield Way("no variables", base)
        yield Way("env -i", marked, scrubbed)
        yield Way("setsid", marked, "setsid -w")
        yield Way("setsid, env -i", marked, f"setsid -w {scrubbed}")
        yield Way("a PATH of its own", marked | own_path)
        yield Way("a PATH of its own, env -i", marked, _scrubbed(base | own_path))
        folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), other)
        yield Way("other folders", marked | folders | named, without=("BOARD",))
        yield Way("other folders, env -i", marked, _scrubbed(base | folders | named), without=("BOARD",))
        elsewhere = _scrubbed(base | named)
        yield Way("another project, env -i", marked, elsewhere, "cd / && {line}", without=("BOARD", "TRUST"))
        yield Way("umask 0", marked, around="umask 0; {line}")
        yield Way("out of the tree", marked, around=LEFT)
        yield Way("out of the tree, env -i", marked, scrubbed, LEFT, is_known=False)

    def type(self, trials: list[Trial]) -> list[tuple[int, str, str]]:
        """Start the agent, and return what its lines came to."""
        integration = WITH_HOOKS[self.name]
        agent = HookedAgent(Workspace(self.place.folder, self.place.home), integration, CONVERSATION)
        event = agent.event(HookPoint.STOP)
        program = self.place.home / integration.executable
        program.write_text(HOST, encoding="utf-8")
        program.chmod(0o700)
        asked = {
            "hook": [str(PROGRAM), "hook", self.name, event],
            "event": json.dumps(agent.payload(event, {})),
            "lines": [(way.line(TYPED[act]), way.environ) for act, way in trials],
        }
        options: dict[str, Any] = {
            "cwd": self.place.folder,
            "env": self.place.environment(),
            "input": json.dumps(asked),
        }
        done = subprocess.run([program], **options, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True)
        return [(code, out, err) for code, out, err in map(json.loads, done.stdout.splitlines())]


def agent_shell(plan: Plan, tally: Tally) -> None:
    """Type every act in every way, in every coding agent; in the short form, each of them at least once."""
    tally.add(inputs=0, refused=0, got_through=0, not_preventable=0)
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        place = _place(Path(name))
        running.enter_context(board(place))
        assert place.run("fleet", "up").returncode == 0
        for shell in all_shells(place):
            trials = list(trials_in(shell, is_long=plan.is_long))
            for (act, way), (code, out, err) in zip(trials, shell.type(trials), strict=True):
                got_through = code != REFUSED or "only a person can" not in err
                if not way.is_known:
                    tally.add(not_preventable=int(got_through))
                    continue
                tally.add(inputs=1, refused=int(not got_through), got_through=int(got_through))
                if got_through:
                    _report(plan, f"{shell.name}, {way.name}, {act.name}: {code}\n{out}\n{err}")
        for trace in _traces(place):
            tally.add(got_through=1)
            _report(plan, trace)


def _place(folder: Path) -> Place:
    place = place_in(folder)
    place.session().change([Append((Task("One"),), "")])
    place.session().change([SetCheck(Numbered((1,)), Check(("make",)))])
    (place.folder / "tildone.toml").write_text("max_nudges = 3\n")
    programs = place.folder / "bin"
    programs.mkdir()
    for program in ("git", "ps", "make", "claude"):
        (programs / program).symlink_to("/bin/true")
    return place


def all_shells(place: Place) -> Iterator[Shell]:
    for name in WITH_HOOKS:
        known = INTEGRATIONS.entries[name]
        variables = dict.fromkeys(known.marks, "1")
        if known.conversation:
            variables[known.conversation] = CONVERSATION
        yield Shell(place, name, variables)


def trials_in(shell: Shell, *, is_long: bool) -> Iterator[Trial]:
    """Each act in each way; in the short form, each way with another act, and each act once, in the first agent."""
    acts = [act for act in TYPED if act not in IN_SHELLS_OF_AGENTS]
    ways = [way for way in shell.ways() if way.is_known]
    last = [(PersonAct.RESUME, way) for way in shell.ways() if not way.is_known]
    if is_long:
        yield from ((act, way) for way in ways for act in acts if not act.name.startswith(way.without))
    elif shell.name == next(iter(WITH_HOOKS)):
        scrubbed = next(way for way in ways if way.name == "env -i")
        yield from ((act, scrubbed) for act in acts)
        yield from ((PersonAct.RESUME, way) for way in ways)
    else:
        yield from ((PersonAct.APPROVE, way) for way in ways if way.name in ("its variables", "env -i"))
    yield from last


def _scrubbed(environ: dict[str, str]) -> str:
    return " ".join(["env -i", *(f"{name}={shlex.quote(text)}" for name, text in environ.items())])


def _traces(place: Place) -> Iterator[str]:
    """What acts of a person leave behind, apart from that which is not preventable."""
    for data in (place.home / "tildone", place.home / "elsewhere" / "tildone"):
        for folder in (data / "approved", data / "trusted"):
            yield from (f"there is {path}" for path in folder.rglob("*") if path.is_file())
    if (place.private_folder / "people.json").exists():
        yield "there are tokens of the board"
    settings = place.settings()
    if place.store().session_head(settings.session).head is None:
        yield "the plan is gone"
    elif place.session().plan.tasks[0].check is None:
        yield "the check is gone"
    facts = [event.fact for event in place.store().history(settings.session)]
    yield from (
        f"{fact.directive}" for fact in facts if isinstance(fact, DirectiveSet) and fact.directive.value != "go"
    )


def _report(plan: Plan, text: str) -> None:
    with (plan.folder / "agent-shell.txt").open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
    print(text, file=sys.stderr, flush=True)
