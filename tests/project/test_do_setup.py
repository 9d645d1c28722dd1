"""The environment that the task script makes: two levels, finished or made again, by one call at a time."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import pytest

import do

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the installer of these tests is a shell script")

FILES = ("do.py", "pyproject.toml", "requirements.lock", "requirements-demo.lock")
UV = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *"{failing}"*) echo no route to host; exit 1;; esac
case "$*" in *"{blocking}"*) echo begun > {fifo}; exec cat {fifo};; esac
[ "$1" = venv ] || exit 0
for venv; do :; done
mkdir -p "$venv/bin" "$venv/lib/python3/site-packages"
echo "$PWD/src" > "$venv/lib/python3/site-packages/_tildone.pth"
ln -sf {python} "$venv/bin/python"
printf '#!/bin/sh\\necho "$@"\\n' > "$venv/bin/tildone"
chmod +x "$venv/bin/tildone"
"""
NOTHING = "matches no command"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A copy of what the set-up reads, with an installer that notes its arguments and installs nothing."""

    root: Path
    programs: Path

    def uv(self, *, failing: str = NOTHING, blocking: str = NOTHING) -> None:
        """Install a `uv` that fails, or waits for a reader and a writer of a pipe, at some of its commands."""
        log, fifo, python = map(quote, (f"{self.programs}/log", f"{self.programs}/fifo", sys.executable))
        script = UV.format(log=log, fifo=fifo, python=python, failing=failing, blocking=blocking)
        (self.programs / "uv").write_text(script)
        (self.programs / "uv").chmod(0o755)

    @contextmanager
    def start(self, verb: str) -> Iterator["subprocess.Popen[str]"]:
        """Start a verb; whatever is left of it at the end of the block is killed."""
        environ, pipe = os.environ | {"PATH": f"{self.programs}:{os.environ['PATH']}"}, subprocess.PIPE
        command = [sys.executable, str(self.root / "do.py"), verb]
        with subprocess.Popen(
            command, env=environ, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def do(self, verb: str) -> tuple[int, str, str]:
        """Return status, output and errors of a verb."""
        with self.start(verb) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def commands(self) -> list[str]:
        """Return the installer's commands since the last call, in short."""
        log = self.programs / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [short(line) for line in lines]


def short(command: str) -> str:
    """Return what a command of the installer is for."""
    if command.startswith("venv"):
        return "venv"
    return "editable" if "--editable" in command else Path(command.rsplit(maxsplit=1)[-1]).name


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "prøject with spaces", tmp_path / "programs")
    made.root.mkdir()
    made.programs.mkdir()
    for name in FILES:
        shutil.copy(do.ROOT / name, made.root)
    shutil.copytree(do.ROOT / "examples", made.root / "examples")
    os.mkfifo(made.programs / "fifo")
    made.uv()
    return made


def test_the_demo_installs_the_program_only_and_says_where_it_is(checkout: Checkout) -> None:
    """Python reads the name of the source folder in the encoding of the locale, so it is written in ASCII."""
    status, out, err = checkout.do("demo")

    assert (status, err) == (0, "")
    assert checkout.commands() == ["venv", "requirements-demo.lock", "editable"]
    program = checkout.root / ".venv" / "bin" / "tildone"
    assert f"\ntildone is {program}\n" in out
    assert f"\n  export PATH='{program.parent}':$PATH\n" in out
    [link] = checkout.root.glob(".venv/lib/*/site-packages/_tildone.pth")
    assert link.read_text().isascii()
    assert Path(os.path.normpath(link.parent / link.read_text().strip())) == checkout.root / "src"


def test_the_tests_complete_the_environment_of_the_demo_and_it_stays_enough_for_it(checkout: Checkout) -> None:
    checkout.do("demo")
    checkout.commands()

    assert checkout.do("setup")[0] == 0
    assert checkout.commands() == ["requirements.lock", "editable"]
    assert checkout.do("demo")[0] == 0
    assert checkout.do("setup") == (0, "", "")
    assert checkout.commands() == []


def test_an_installation_that_fails_leaves_the_demo_working(checkout: Checkout) -> None:
    checkout.do("demo")
    checkout.commands()
    checkout.uv(failing="requirements.lock")

    status, _, err = checkout.do("setup")

    told = [text in err for text in ("no route to host", "is the network reachable?", "Traceback")]
    assert (status, told, checkout.commands()) == (2, [True, True, False], ["requirements.lock"])
    assert (checkout.do("demo")[0], checkout.commands()) == (0, [])


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)], ids=["Ctrl-C", "killed"]
)
def test_an_interrupted_installation_is_made_again_from_nothing(
    number: signal.Signals, status: int, checkout: Checkout
) -> None:
    checkout.uv(blocking="requirements-demo.lock")

    with checkout.start("demo") as process:
        assert (checkout.programs / "fifo").read_text() == "begun\n"
        process.send_signal(number)
        if number is signal.SIGKILL:
            (checkout.programs / "fifo").write_text("")  # its installer is still there
        _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (status, "")
    checkout.commands()
    checkout.uv()
    assert checkout.do("demo")[0] == 0
    assert checkout.commands() == ["venv", "requirements-demo.lock", "editable"]


def test_an_environment_that_was_copied_with_its_folder_is_made_again(checkout: Checkout, tmp_path: Path) -> None:
    """Its programs contain the old path."""
    checkout.do("demo")
    checkout.commands()
    shutil.copytree(checkout.root, tmp_path / "copy", symlinks=True)

    assert Checkout(tmp_path / "copy", checkout.programs).do("demo")[0] == 0

    assert checkout.commands() == ["venv", "requirements-demo.lock", "editable"]


def test_an_environment_that_is_a_link_or_cannot_be_written_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    """Setting up the link would empty the other one."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    venv = checkout.root / ".venv"
    venv.symlink_to(other)

    status, out, err = checkout.do("demo")

    assert (status, out) == (2, "")
    assert f".venv is a link to {other}: setting it up would change that environment" in err
    assert (checkout.commands(), os.listdir(other)) == ([], ["kept"])
    venv.unlink()
    venv.write_text("not a folder")
    status, _, err = checkout.do("demo")
    assert (status, str(venv) in err, "Traceback" in err) == (2, True, False)


def test_a_second_call_waits_for_the_first_and_uses_what_it_made(checkout: Checkout) -> None:
    checkout.uv(blocking="requirements-demo.lock")

    with checkout.start("demo") as first:
        assert (checkout.programs / "fifo").read_text() == "begun\n"
        with checkout.start("demo") as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "== another do.py is setting up .venv: waiting for it\n"
            (checkout.programs / "fifo").write_text("")
            first.communicate(timeout=60)
            rest, err = second.communicate(timeout=60)

    assert (first.returncode, second.returncode, err) == (0, 0, "")
    assert "setting up" not in rest
    assert checkout.commands() == ["venv", "requirements-demo.lock", "editable"]


def test_what_the_demo_installs_is_a_part_of_what_the_tests_install() -> None:
    """At the same versions, so completing the environment replaces nothing."""
    demo, dev = (do.LOCKS[level].read_text(encoding="utf-8").splitlines() for level in ("demo", "dev"))

    assert set(demo) < set(dev)
    assert len(demo) < len(dev) / 8


def test_a_program_on_the_path_needs_no_path(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    program = checkout.root / ".venv" / "bin" / "tildone"
    checkout.do("demo")
    monkeypatch.setattr(do, "BIN", program.parent)

    told = [any("PATH" in line for line in do.what_next(found)) for found in (str(program), sys.executable, None)]
    assert told == [False, True, True]


def test_an_installation_that_hangs_is_stopped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(do, "INSTALL_LIMIT", 0.01)

    with pytest.raises(do.Stop, match="did not finish"):
        do.quietly([sys.executable, "-c", "import threading; threading.Event().wait()"])


def test_both_installers_check_hashes_and_resolve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(do, "quietly", commands.append)

    do.install_with_pip(do.LOCKS["dev"], keep=True)
    do.install_with_uv("uv", do.LOCKS["dev"], keep=True)

    of_lock = [command for command in commands if str(do.LOCKS["dev"]) in command]
    assert [{"--require-hashes", "--no-deps"} <= set(command) for command in of_lock] == [True, True]
