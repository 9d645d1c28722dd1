"""Running the programs in `programs.py` in other processes."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[2]
TOO_LONG = 300.0


def start(program: str, *arguments: object, warnings: str = "default") -> subprocess.Popen[str]:
    """Start one of the programs in `programs.py`."""
    command = [sys.executable, "-W", warnings, "-m", "tests.stores.programs", program, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def started(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start one of the programs, in which a warning is an error; it is killed at the end of the block."""
    with start(program, *arguments, warnings="error") as process:
        try:
            yield process
        finally:
            process.kill()


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the programs and return its output."""
    [done] = finish([start(program, *arguments)])
    return done


def run_at_once(program: str, arguments: Iterable[tuple[object, ...]]) -> list[str]:
    """Start a program several times, let all go on when all are ready, and return what each has printed."""
    with ExitStack() as running:
        processes = [running.enter_context(started(program, *each)) for each in arguments]
        for process in processes:
            wait_for("ready", process)
        return [done.stdout for done in finish(processes)]


def wait_for(line: str, process: subprocess.Popen[str]) -> None:
    assert next_line(process) == line


def next_line(process: subprocess.Popen[str]) -> str:
    """Return the next line of a program's output."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def finish(processes: list[subprocess.Popen[str]]) -> list[subprocess.CompletedProcess[str]]:
    """Close the input of programs, wait until they end, and check that none failed."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    answers = [process.communicate(timeout=TOO_LONG) for process in processes]
    for process, (out, err) in zip(processes, answers, strict=True):
        assert process.returncode == 0, err or out
    return [
        subprocess.CompletedProcess(process.args, process.returncode, out, err)
        for process, (out, err) in zip(processes, answers, strict=True)
    ]


def ended(process: subprocess.Popen[str]) -> str:
    """Return the output of a program that ends successfully by itself; its input stays open."""
    assert process.stdout is not None
    assert process.stderr is not None
    giving_up = Timer(TOO_LONG, process.kill)
    giving_up.start()
    try:
        out, err = process.stdout.read(), process.stderr.read()
        assert (process.wait(), err) == (0, "")
    finally:
        giving_up.cancel()
    return out
