"""Running the programs in `programs.py` in other processes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start one of the programs in `programs.py`."""
    command = [sys.executable, "-m", "tests.stores.programs", program, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the programs and return its output."""
    [done] = finish([start(program, *arguments)])
    return done


def wait_for(line: str, process: subprocess.Popen[str]) -> None:
    """Wait until a program prints this line."""
    assert process.stdout is not None
    assert process.stdout.readline() == f"{line}\n"


def finish(processes: list[subprocess.Popen[str]]) -> list[subprocess.CompletedProcess[str]]:
    """Close the input of programs, wait until they end, and check that none failed."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    answers = [process.communicate(timeout=120) for process in processes]
    for process, (out, err) in zip(processes, answers, strict=True):
        assert process.returncode == 0, err or out
    return [
        subprocess.CompletedProcess(process.args, process.returncode, out, err)
        for process, (out, err) in zip(processes, answers, strict=True)
    ]
