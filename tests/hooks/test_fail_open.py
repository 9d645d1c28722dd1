"""A broken tildone lets the agent go: exit code 0, an answer or nothing, one line of complaint at most, and an end."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.cli.person import PROGRAM, Answer
from tests.hooks.agent import WITH_HOOKS, Desk, Hooked, dumped, in_process, in_subprocess, plan_of
from tildone.core.ops import Write
from tildone.hooks import answers
from tildone.integrations.record import HookPoint

OPEN = (("Write the parser", "in_progress"), ("Wire it up", "pending"))
SAID = {"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "I stop."}


def lets_go(answer: Answer) -> str:
    """Nothing is said to the agent; what is said to whoever looks."""
    assert (answer.code, answer.out) == (0, ""), answer
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("tildone: ")
    assert answer.err.endswith("; the agent goes on\n")
    assert "Traceback" not in answer.err
    return answer.err


def test_a_store_that_is_a_folder(desk: Desk) -> None:
    Path(desk.settings.store.location).mkdir(parents=True)

    assert "it is a directory" in lets_go(Hooked(desk).call(HookPoint.STOP))


def test_a_store_that_is_damaged(desk: Desk) -> None:
    store = Path(desk.settings.store.location)
    store.parent.mkdir(parents=True)
    store.write_bytes(b"not a database, but long enough to be taken for one. " * 100)

    assert "is not a tildone store" in lets_go(Hooked(desk).call(HookPoint.STOP))


def test_a_store_with_a_hole_in_it(desk: Desk) -> None:
    desk.plan(*OPEN)
    store = Path(desk.settings.store.location)
    content = bytearray(store.read_bytes() or b"")
    for leftover in store.parent.glob("*-wal"):
        leftover.unlink()
    content[4096:] = b"\xff" * (len(content) - 4096)
    store.write_bytes(content)

    answer = Hooked(desk).call(HookPoint.STOP)

    assert answer.code == 0
    assert answer.err.count("\n") <= 1


@pytest.mark.slow
def test_a_store_that_somebody_keeps_locked(desk: Desk) -> None:
    """Neither reading nor writing is waited for longer than a moment."""
    desk.plan(*OPEN)
    holder = apsw.Connection(desk.settings.store.location)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("UPDATE sessions SET updated = updated + 1")

    said = lets_go(Hooked(desk).call(HookPoint.STOP))

    holder.close()
    assert "in use by another process" in said
    assert Hooked(desk).call(HookPoint.STOP).out


@pytest.mark.slow
def test_a_store_that_somebody_keeps_writing_to(desk: Desk) -> None:
    """What can not be remembered is not said: a nudge that is not counted has no end."""
    desk.plan(*OPEN)
    Hooked(desk).call(HookPoint.STOP)
    holder = apsw.Connection(desk.settings.store.location)
    holder.execute("BEGIN IMMEDIATE")

    said = lets_go(Hooked(desk).call(HookPoint.STOP))

    holder.close()
    assert "in use by another process" in said


def test_a_home_where_nothing_can_be_written(desk: Desk) -> None:
    """As good as one that may not be written to, which nobody can keep root from."""
    broken = Desk(desk.project, desk.home / "file", desk.more)
    broken.home.write_text("a file\n", encoding="utf-8")

    answer = Hooked(broken).call(HookPoint.STOP)

    assert (answer.code, answer.out) == (0, "")
    assert answer.err.count("\n") <= 1


def test_a_folder_of_agents_that_can_not_be_written(desk: Desk) -> None:
    desk.plan(*OPEN)
    Path(desk.settings.agents_dir).write_text("a file\n", encoding="utf-8")

    lets_go(Hooked(desk).call(HookPoint.STOP))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nobody can keep root from writing")
def test_a_store_that_is_read_only(desk: Desk) -> None:
    desk.plan(*OPEN)
    store = Path(desk.settings.store.location)
    store.chmod(0o400)
    store.parent.chmod(0o500)

    answer = Hooked(desk).call(HookPoint.STOP)

    store.parent.chmod(0o700)
    assert (answer.code, answer.out) == (0, "")


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port where somebody listens, and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        yield listening.getsockname()[1]


@pytest.mark.slow
def test_a_database_that_is_out_of_reach(desk: Desk) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        url = f"postgresql://me:secret@127.0.0.1:{port}/plans"

        said = lets_go(Hooked(Desk(desk.project, desk.home, {**desk.more, "TILDONE_STORE": url})).call(HookPoint.STOP))

    assert "secret" not in said


@pytest.mark.slow
def test_a_database_that_never_answers(desk: Desk, black_hole: int) -> None:
    url = f"postgresql://me:secret@127.0.0.1:{black_hole}/plans"

    said = lets_go(Hooked(Desk(desk.project, desk.home, {**desk.more, "TILDONE_STORE": url})).call(HookPoint.STOP))

    assert "secret" not in said


def test_no_home_at_all(desk: Desk) -> None:
    """Nothing of the environment but where programs are."""
    done = subprocess.run(
        [PROGRAM, "hook", "claude"],
        input=dumped({**SAID, "cwd": str(desk.project)}),
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(desk.home)},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_folder_that_is_gone(desk: Desk, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from tildone.cli import main; "
    run += "sys.exit(main(['hook', 'claude', 'Stop']))"

    done = subprocess.run(
        [sys.executable, "-c", run],
        input=b'{"x": 1}',
        env={**os.environ, **desk.environ},
        capture_output=True,
        check=True,
    )

    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("cwd", ["/no/such/folder", "a\0b", 7, None, "\ud800", ""])
def test_a_folder_that_makes_no_sense(desk: Desk, cwd: object) -> None:
    answer = in_process(["claude"], dumped({**SAID, "cwd": cwd}), desk.environ)

    assert (answer.code, answer.out) == (0, "")
    assert answer.err.count("\n") <= 1


def test_settings_that_make_no_sense(desk: Desk) -> None:
    (desk.project / "tildone.toml").write_text("max_nudges = [", encoding="utf-8")

    lets_go(Hooked(desk).tell(HookPoint.STOP))


@pytest.mark.parametrize("text", ['gate = "maybe"', "max_cost = -1", "max_same = 1.5", "max_minutes = true"])
def test_a_setting_of_the_wrong_kind(desk: Desk, text: str) -> None:
    (desk.project / "tildone.toml").write_text(text, encoding="utf-8")

    assert text.split(" ", maxsplit=1)[0] in lets_go(Hooked(desk).tell(HookPoint.STOP))


@pytest.mark.parametrize("words", [[], ["nobody"], ["nobody", "Stop"], ["--store"], [""]])
def test_a_host_that_is_not_known(desk: Desk, words: list[str]) -> None:
    said = lets_go(in_subprocess(words, dumped(SAID), desk.environ))

    assert all(name in said for name in WITH_HOOKS)


def test_words_that_make_no_sense_are_not_heeded(desk: Desk) -> None:
    """Whatever is wrong in a host's settings must not hold its agent up."""
    desk.plan(*OPEN)
    said = {**SAID, "cwd": str(desk.project)}

    answer = in_process(["claude", "Stop", "too", "many", "--verbose", "--colour=no"], dumped(said), desk.environ)

    assert "is not done" in answer.out


def test_options_of_ours_are_heeded(desk: Desk) -> None:
    desk.session_of("ours").change((Write(plan_of(OPEN).phases),))
    store = str(desk.settings.store)
    said = dumped({**SAID, "cwd": str(desk.home)})

    both = [["claude", "--session", "ours", f"--store={store}"], ["claude", "Stop", "--session=ours", "--store", store]]

    assert all("Write the parser" in in_process(words, said, desk.environ).out for words in both)
    before = subprocess.run(
        [PROGRAM, "--store", store, "--session", "ours", "hook", "claude"],
        input=said,
        env={**os.environ, **desk.environ},
        capture_output=True,
        check=True,
    )
    assert b"Write the parser" in before.stdout


def test_a_bug_of_ours(agent: Hooked, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.desk.plan(*OPEN)

    def broken(*_: object) -> str:
        raise KeyError("who\nknows")

    monkeypatch.setattr(answers, "answer", broken)

    assert "KeyError" in lets_go(agent.tell(HookPoint.STOP))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError, BrokenPipeError])
def test_whatever_is_raised(agent: Hooked, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    agent.desk.plan(*OPEN)

    def broken(*_: object) -> str:
        raise error

    monkeypatch.setattr(answers, "answer", broken)

    lets_go(agent.tell(HookPoint.STOP))


def test_a_package_that_is_missing(desk: Desk, tmp_path: Path) -> None:
    desk.plan(*OPEN)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "apsw.py").write_text("raise ImportError('no such library')\n", encoding="utf-8")
    broken = Desk(desk.project, desk.home, {**desk.more, "PYTHONPATH": str(tmp_path / "broken")})

    assert "no such library" in lets_go(Hooked(broken).call(HookPoint.STOP))


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed(desk: Desk, closed: str) -> None:
    desk.plan(*OPEN)
    said = {**SAID, "cwd": str(desk.project)}
    done = subprocess.run(
        ["sh", "-c", f'"$0" hook claude {closed}', PROGRAM],
        input=dumped(said),
        env={**os.environ, **desk.environ},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert done.stderr.count(b"\n") <= 1
    assert b"Traceback" not in done.stderr


def test_a_reader_that_is_gone(desk: Desk) -> None:
    desk.plan(*OPEN)
    ours, theirs = os.pipe()
    os.close(ours)

    done = subprocess.run(
        [PROGRAM, "hook", "claude"],
        input=dumped({**SAID, "cwd": str(desk.project)}),
        env={**os.environ, **desk.environ},
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )

    os.close(theirs)
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no endless file")
def test_somebody_who_never_stops_talking(desk: Desk) -> None:
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            [PROGRAM, "hook", "claude"],
            stdin=endless,
            env={**os.environ, **desk.environ},
            capture_output=True,
            check=False,
        )

    said = lets_go(Answer(done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert "longer than 5 seconds" in said


@pytest.mark.slow
def test_somebody_who_never_says_anything(desk: Desk) -> None:
    ours, theirs = os.pipe()

    done = subprocess.run(
        [PROGRAM, "hook", "claude"], stdin=ours, env={**os.environ, **desk.environ}, capture_output=True, check=False
    )

    os.close(theirs)
    os.close(ours)
    assert "longer than 5 seconds" in lets_go(Answer(done.returncode, "", done.stderr.decode()))


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_person_at_a_terminal_is_told_what_it_is_for(desk: Desk) -> None:
    import pty  # noqa: PLC0415  Windows has none

    ours, theirs = pty.openpty()
    done = subprocess.run(
        [PROGRAM, "hook", "claude"], stdin=theirs, env={**os.environ, **desk.environ}, capture_output=True, check=False
    )

    os.close(ours)
    os.close(theirs)
    assert b"see tildone hook --help" in done.stderr
    assert done.returncode == 0


def test_its_help_is_like_any_other(desk: Desk) -> None:
    answer = in_subprocess(["--help"], b"", desk.environ)

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("tildone hook AGENT [EVENT]\n")
    assert all(name in answer.out for name in WITH_HOOKS)
