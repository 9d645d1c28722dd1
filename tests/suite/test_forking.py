"""A forked program is a process like one that was started, as far as a test can tell."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.suite.forking import PROGRAM, ForkingPopen, forking, starting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks here")

COMMANDS = (
    ("--version",),
    ("todo", "add", "Prüfe – 漢字"),
    ("todo",),
    ("todo", "--json"),
    ("todo", "done", "9"),
    ("todo", "import", "-"),
    ("no-such-verb",),
    ("complete-words", "bash", "--", "to"),
)


def test_a_fork_answers_as_a_start_does(tmp_path: Path) -> None:
    """Status, output and errors are the same, with input, Unicode and refusals."""
    given = b"- [ ] From a pipe\n"
    seen = []
    for way, name in ((forking, "forked"), (starting, "started")):
        person = person_in(tmp_path / name)
        with way():
            answered = [person.run(*command, given=given) for command in COMMANDS]
        seen.append([(answer.code, answer.out.replace(name, ""), answer.err) for answer in answered])

    assert seen[0] == seen[1]
    assert {code for code, _, _ in seen[0]} >= {0, 2}


def person_in(folder: Path) -> Person:
    (folder / "project" / ".git").mkdir(parents=True)
    (folder / "home").mkdir()
    return Person(folder / "project", folder / "home")


def test_a_fork_has_its_own_folder_umask_session_and_streams(tmp_path: Path) -> None:
    """As they were when it was asked for."""
    person = person_in(tmp_path)
    before = os.umask(0o027)
    try:
        with forking(), (tmp_path / "out").open("wb") as out:
            process = subprocess.Popen(
                [PROGRAM, "mcp"],
                cwd=person.folder,
                env=person.environment({"TZ": "Asia/Tokyo"}),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    finally:
        os.umask(before)
    proc = Path(f"/proc/{process.pid}")
    with process:
        assert isinstance(process, ForkingPopen)
        assert Path(os.readlink(proc / "cwd")) == person.folder
        assert Path(os.readlink(proc / "fd" / "1")) == tmp_path / "out"
        assert os.getsid(process.pid) == process.pid
        assert "Umask:\t0027" in (proc / "status").read_text()
        assert process.poll() is None
        process.kill()
    assert (process.returncode, proc.exists()) == (-signal.SIGKILL, False)


def test_other_programs_and_unusual_wishes_are_started_as_usual() -> None:
    """So is the program, if the interpreter itself would read other variables."""
    with forking():
        version = [str(PROGRAM), "--version"]
        other_variables = {**os.environ, "PYTHONUTF8": "1"}
        processes = [
            subprocess.Popen([sys.executable, "-c", "print('tildone 1')"], stdout=subprocess.PIPE),
            subprocess.Popen(version, env=other_variables, stdout=subprocess.PIPE),
            subprocess.Popen(version, pass_fds=[0], stdout=subprocess.PIPE),
        ]

    for process in processes:
        # Its parent is this process, not one to fork from.
        parent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
        assert (process.communicate()[0][:8], int(parent)) == (b"tildone ", os.getpid())


def test_forks_end_with_the_process_that_asked_for_them(tmp_path: Path) -> None:
    """Even if it is killed."""
    script = (
        "import os, subprocess, sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.suite.forking import PROGRAM, forking\n"
        "with forking():\n"
        "    process = subprocess.Popen([PROGRAM, 'mcp'], cwd=sys.argv[2])\n"
        "print(process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parents[2]), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        # It ends when the last process that has it as its output has ended. Their input stays open meanwhile.
        pid = int(process.stdout.read())

    assert process.returncode == -signal.SIGKILL
    assert not Path(f"/proc/{pid}").exists()
