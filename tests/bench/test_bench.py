"""The benchmark runs and prints every row. How fast things are is not tested."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import cast

import pytest
from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench import tokens
from bench.board import Board
from bench.board_pages import page_rows
from bench.compare import Comparison
from bench.groups import GROUPS
from bench.measure import Memory, Row, medians
from tests.project.source import ROOT
from tests.stores.postgres_keeper import why_not
from tests.web.browser.install import HOW, OTHER_BROWSER, find_browser
from tildone.plan.dialects.brief import DIALECT as BRIEF

ROWS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
"""The rows of groups that are measured together."""


def test_every_group_has_its_rows() -> None:
    measured = [group.module for group in GROUPS if not group.installs]
    assert [module for groups in ROWS for module in groups.split()] == measured


@pytest.mark.slow
@pytest.mark.parametrize("groups", ROWS)
def test_every_row_is_printed(groups: str) -> None:
    """With its ratio, its aim and a verdict; a row over its aim is not a failure."""
    command = [sys.executable, "-m", "bench", "--quick", *(f"--only={group}" for group in groups.split())]

    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert [line[:45].rstrip() for line in lines] == ROWS[groups]
    measured = [line for line in lines if not _may_be_skipped(line)]
    assert all(line.endswith((" PASS", " over")) and " ≤ " in line for line in measured)


def _may_be_skipped(line: str) -> bool:
    """Whether the row needs something that is not on this machine."""
    no_server = why_not()
    return (no_server is not None and no_server in line) or (find_browser() is None and HOW in line)


def test_a_figure_passes_if_it_is_within_the_aim() -> None:
    """Of a row, its ratio; the absolute times do not matter. Little memory is told in kilobytes."""
    rows = [Row("a call", "a commit", 2.0, took=took, base_took=1.0) for took in (1.9, 2.0, 2.1)]
    memories = [Memory("a server", megabytes, 20) for megabytes in (20.0, 20.1)]

    assert [str(each).split()[-1] for each in (*rows, *memories)] == ["PASS", "PASS", "over", "PASS", "over"]
    assert str(Memory("a stream", 0.0384, 0.1)).split()[-5:] == ["kB", "39.3", "≤", "102.4", "PASS"]
    assert str(Row("a command", "python", 4.0, skipped="there is none")).endswith("skipped: there is none")


def test_without_a_browser_its_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OTHER_BROWSER, "no-such-browser")
    board = cast("Board", None)

    assert all(str(row).endswith(f"skipped: {HOW}") for row in page_rows(board, board, 1, 2))


def test_only_a_change_beyond_the_noise_counts() -> None:
    """Noise is how far apart the repeats of one checkout lie, and at least 5 %."""
    verdicts = {
        ((1.0, 1.0), (1.04, 1.04)): "same",
        ((1.0, 1.0), (1.2, 1.2)): "slower",
        ((1.0, 1.3), (1.2, 1.4)): "same",
        ((1.0, 1.0), (0.5, 0.5)): "faster",
    }

    assert {case: str(Comparison("a call", *case)).split()[-1] for case in verdicts} == verdicts


@pytest.mark.slow
def test_two_checkouts_are_compared_in_one_table() -> None:
    """Here the checkout with itself: the same tokens, so no change."""
    command = [sys.executable, "-m", "bench", "--against", str(ROOT), "--only", "tokens", "--repeats", "1"]

    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    heading, *lines = answer.stdout.splitlines()
    assert heading.split()[-4:] == ["before", "after", "change", "noise"]
    assert [line[:45].rstrip() for line in lines] == ROWS["tokens"]
    assert all(line.endswith("same") and " 1.00 " in line for line in lines)


def test_measured_actions_alternate() -> None:
    """A slow moment of the machine affects all of them alike."""
    seen: list[str] = []

    times = medians([lambda: seen.append("a"), lambda: seen.append("b")], 3)

    assert seen == ["a", "b"] * 4
    assert len(times) == 2


def test_every_dialect_stays_within_its_token_budget() -> None:
    """Tokens are counted exactly, so this can be a test."""
    by_name = {row.dialect: row for row in tokens.rows()}

    assert by_name["brief"].total <= 300
    assert by_name["brief, input"].total <= 3000
    assert all(row.total <= row.most for row in by_name.values())


@pytest.mark.parametrize(("word", "form"), [("check", "command"), ("after", "IDs"), ("touches", "globs")])
def test_each_word_for_checks_and_order_costs_the_schema_twenty_tokens_at_most(word: str, form: str) -> None:
    tool, tokenizer = BRIEF.tools[0], openai.o200k_base()
    whole = tokens.definition(tool)
    phrase = f", {word} ID {form}"
    without = whole | {"description": tool.description.replace(phrase, "")}

    assert phrase in tool.description
    assert tokenizer.count(json.dumps(whole)) - tokenizer.count(json.dumps(without)) <= 20


def test_ten_tasks_take_eleven_calls_in_the_brief_dialect() -> None:
    """Each is started and completed: completing one starts the next."""
    workload = tokens.measured("brief", len)

    assert len(workload.calls) == len(tokens.TASKS) + 1


def test_each_request_carries_the_definitions_and_what_came_before() -> None:
    """Two calls make three requests: of 100, of 100 + 11 and of 100 + 11 + 22 tokens."""
    workload = tokens.Workload("brief", 100, (10, 20), (1, 2))

    assert (workload.total, workload.input) == (133, 344)
