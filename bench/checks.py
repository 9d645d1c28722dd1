"""Checks: a call that runs one against the command alone, and a stop with many proofs against one without any."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.hooks import environ, hook
from bench.measure import Row, medians
from tildone.app.opening import check_approvals, open_session
from tildone.app.settings import Settings, load
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck
from tildone.stores.assignment import ProvidedTools

TRIVIAL = Check((sys.executable, "-I", "-c", "pass"))
GLOBS = 5
"""How many of the checks name different files that they watch."""

NO_GIT = "git is not installed"


def rows(folder: Path, rounds: int, proofs: int, files: int) -> Iterator[Row]:
    """A call that completes a task with a check, and the stops of an agent in a large working tree."""
    names = "done, with a trivial check", f"hook Stop, {proofs} proofs, {files:,} files, told to go on"
    bases = "the command alone", "the same without proofs"
    if shutil.which("git") is None:
        yield from (Row(name, base, 0, skipped=NO_GIT) for name, base in zip(names, bases, strict=True))
        return
    alone, done = medians([_command, _done(folder)], rounds)
    yield Row(names[0], bases[0], 3, done, alone)
    project = _project(folder / "large", files)
    plain, proved = _plan(folder, project, "plain", 0), _plan(folder, project, "proved", proofs)
    # This process is the coding agent, and its model has our tools.
    with ProvidedTools(plain.agents_dir, os.getpid()):
        without, with_proofs = medians([_stop(folder, plain), _stop(folder, proved)], max(1, rounds // 3))
    yield Row(names[1], bases[1], 1.2, with_proofs, without)


def _command() -> None:
    subprocess.run(TRIVIAL.command, check=True, stdin=subprocess.DEVNULL)


def _done(folder: Path) -> Callable[[], object]:
    """Complete the task of a session, which is reopened with each call, in a small repository."""
    project = _project(folder / "small", 10)
    session = _session(_settings(folder, project, "small"))
    check_approvals(_settings(folder, project, "small")).approve(TRIVIAL)
    session.change((Append((Task("Write the parser"),)), SetCheck(Numbered((1,)), TRIVIAL)))
    changed = project / "src0" / "file0.py"

    def done() -> None:
        # The proof of the round before is stale, so that the check is run.
        changed.write_text(changed.read_text(encoding="utf-8") + "#", encoding="utf-8")
        session.change((Mark(Numbered((1,)), Status.COMPLETED),))

    return done


def _project(folder: Path, files: int) -> Path:
    """A repository with this number of files, all committed."""
    for number in range(files):
        path = folder / f"src{number // 500}" / f"file{number}.py"
        if number % 500 == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"number = {number}\n", encoding="utf-8")
    settings = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "."], [*settings, "commit", "-qm", "Files"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def _plan(folder: Path, project: Path, name: str, proofs: int) -> Settings:
    """A plan of many done tasks, of which so many have proofs, and one open task."""
    settings = _settings(folder, project, name)
    session = _session(settings)
    session.change((Append((*(Task(f"Task number {i}", Status.COMPLETED) for i in range(50)), Task("The last"))),))
    checks = [Check(TRIVIAL.command, watches=(f"src{i % GLOBS}",) if i % 2 else ()) for i in range(proofs)]
    check_approvals(settings).approve(TRIVIAL)
    numbers = range(1, proofs + 1)
    session.change(tuple(SetCheck(Numbered((number,)), checks[number - 1]) for number in numbers))
    session.change(tuple(Mark(Numbered((number,)), Status.COMPLETED) for number in numbers))
    session.store.close()
    return settings


def _session(settings: Settings) -> Session:
    return open_session(settings, BY_HAND)


def _settings(folder: Path, project: Path, name: str) -> Settings:
    return load({"session": name}, environ(folder), str(project))


def _stop(folder: Path, settings: Settings) -> Callable[[], object]:
    """Run the stop hook of an agent that works on that session."""
    return hook(folder, Path(settings.project), "Stop", settings.session)
