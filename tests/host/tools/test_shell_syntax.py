"""Splitting a shell line: how long it takes, and what real shells make of lines that are split."""

import os
import subprocess
import time
import timeit
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tildone.plan.shell.syntax import MAX_CHARACTERS, split_line
from tildone.run.tools.commands import not_allowed

PIECES = ["a ", "1 >&2 ", "a >b ", "a;", '"a" ', "'a' ", "a'b'", "$x ", "$(a) ", "`a` ", "{", "\\a", "(a);", "a&>b "]


def test_the_time_is_proportional_to_the_length() -> None:
    """Twice as long a line takes about twice as long; with a quadratic step it would take four times as long."""

    def seconds(piece: str, size: int) -> float:
        line = piece * (size // len(piece))
        return timeit.timeit(lambda: split_line(line), number=1, timer=time.process_time)

    def is_proportional(piece: str) -> bool:
        return seconds(piece, MAX_CHARACTERS // 2) <= 3.2 * seconds(piece, MAX_CHARACTERS // 4) + 0.005

    # Other programs disturb a measurement, so one of several is enough: a quadratic step fails in all of them.
    assert [piece for piece in PIECES if not any(is_proportional(piece) for _ in range(10))] == []


def test_a_line_that_no_shell_would_run_is_not_split() -> None:
    assert [piece for piece in PIECES if split_line(piece * (1_000_000 // len(piece))) is not None] == []


HIDDEN = ["'; evil '", '"; evil "', " \\; evil", " evil", '"`tool a`', "$(tool evil)", "; tool evil", " 'evil\\' "]
SIGNS = ["tool ", "evil", " evil ", " ", ";", "'", '"', "\\", "`", "$(", ")", "(", "${x:-", "}", " #", "\n"]
SIGNS += ["<<E\n", "E\n", "&", "|", "> x ", "$'", "{ ", "\\\n", "$", "<(", "&>", "2>&1", "''", '\\"', "\r"]


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `tool` that does nothing and an `evil` that creates a file."""
    place = tmp_path_factory.mktemp("trap")
    for name, does in {"tool": "exit 0", "evil": f": > {place}/trace"}.items():
        program = place / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    (place / "cwd").mkdir()
    return place


@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(HIDDEN) | st.sampled_from(SIGNS), min_size=2, max_size=8).map("".join))
def test_real_shells_run_only_allowed_commands(trap: Path, rest: str) -> None:
    """If `tool *` allows a line, it runs no program other than `tool`."""
    line = f"tool {rest}"
    assume("evil" in line and not_allowed(line, ("tool *", "> *")) == ())

    for shell in ("/bin/bash", "/bin/sh"):
        subprocess.run(
            [shell, "-c", line],
            cwd=trap / "cwd",
            env={"PATH": str(trap / "bin")},
            capture_output=True,
            check=False,
            timeout=10,
        )

    assert not os.path.exists(trap / "trace"), line
