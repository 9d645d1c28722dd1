"""The transcripts of agents: whatever the agent is, as harmless text, and only on the machine that has them."""

import json
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator
from tildone.plan.runs import Claimer, Lease
from tildone.stores.agents import machine_name

ESCAPE = "\x1b[2J"
CALL = {"type": "tool_use", "name": "Bash", "input": {"command": f"make{ESCAPE}"}}
RESULT = {"type": "tool_result", "content": [{"type": "text", "text": "made\ncall: none"}]}
STREAM = [
    {"type": "system", "subtype": "init"},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I make it."}, CALL]}},
    {"type": "user", "message": {"role": "user", "content": [RESULT]}},
    {"type": "result", "is_error": False, "result": "Made."},
]
SHOWN = 'assistant: I make it.\ncall: Bash {"command": "make\\u001b[2J"}\nresult: made\n  call: none\n'
OWN = [
    {"type": "message_start", "message": {"role": "assistant", "content": []}},
    {"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}},
    {"type": "turn_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}},
    {"type": "message_end", "message": {"role": "toolResult", "content": [{"type": "text", "text": "ok"}]}},
]
"""What `tildone run --mode json` prints."""


def lines(*entries: object) -> str:
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The folder of the outputs of this machine's workers."""
    folder = tmp_path / "home" / ".local" / "share" / "tildone" / "fleet" / "runs"
    folder.mkdir(parents=True)
    return folder


def begin(operator: Operator, host: str = "", hands: int = 1) -> list[Lease]:
    run = operator.add("a.md", "--hands", str(hands))
    worker = f"{host or machine_name()}/1/a"
    operator.leases.claim(Claimer(worker), [f"{worker}/{number}" for number in range(hands)])
    return [view.lease for view in operator.leases.look(run)]


def test_what_claude_prints_is_told_as_what_it_said_called_and_got(operator: Operator, runs: Path) -> None:
    [lease] = begin(operator)
    (runs / f"{lease.run}.1.output").write_text(lines(*STREAM))

    assert operator.fleet("transcript", lease.run) == SHOWN
    assert operator.fleet("transcript", f"{lease.run}/1") == SHOWN
    [hand] = operator.json("transcript", lease.run)["hands"]
    assert (hand["run"], hand["hand"], hand["agent"]) == (lease.run, 1, "shell")
    assert hand["items"][1] == {"who": "call", "text": "Bash", "arguments": {"command": f"make{ESCAPE}"}}


def test_other_output_is_printed_without_control_characters(operator: Operator, runs: Path) -> None:
    [lease] = begin(operator)
    (runs / f"{lease.run}.1.output.1").write_text("older\n")
    (runs / f"{lease.run}.1.output").write_text(f"one{ESCAPE}\n{{'no': 'json'}}\n\n")

    assert operator.fleet("transcript", lease.run) == "older\none␛[2J\n{'no': 'json'}\n\n"


def test_each_hand_has_a_heading_and_the_newest_attempt_counts(operator: Operator, runs: Path) -> None:
    first, _ = begin(operator, hands=2)
    (runs / f"{first.run}.1.output").write_text("one\n")
    operator.leases.release(first.fence, "again")
    operator.leases.claim(Claimer(f"{machine_name()}/1/a"), [f"{machine_name()}/1/a/3"])
    (runs / f"{first.run}.hand2.1.output").write_text("two\n")
    (runs / f"{first.run}.{operator.leases.look(first.run)[0].lease.epoch}.output").write_text("newest\n")

    assert operator.fleet("transcript", first.run) == f"# {first.run}/1\nnewest\n# {first.run}/2\ntwo\n"
    assert operator.fleet("transcript", f"{first.run}/2") == "two\n"
    assert "has no hand 3" in operator.refused(4, "fleet", "transcript", f"{first.run}/3")


def test_it_says_where_a_transcript_is_that_is_not_here(operator: Operator, runs: Path) -> None:
    waiting = operator.add("b.md")
    assert operator.refused(4, "fleet", "transcript", waiting) == f"tildone: {waiting} has not begun\n"
    operator.fleet("cancel", waiting)
    first, second = begin(operator, "elsewhere", hands=2)
    missing = f"the transcript of {first.run} is on elsewhere: worker elsewhere/1/a ran it"

    assert operator.refused(4, "fleet", "transcript", f"{first.run}/1") == f"tildone: {missing}\n"
    (runs / f"{second.run}.hand2.1.output").write_text("two\n")
    code, out, err = operator.run("fleet", "transcript", first.run)
    assert (code, out, err) == (0, f"# {first.run}/2\ntwo\n", f"tildone: {missing}\n")
    assert operator.json("transcript", first.run)["missing"] == [missing]


def test_one_that_is_gone_here_is_not_on_another_machine(operator: Operator) -> None:
    [lease] = begin(operator)

    assert "is not in this folder: worker" in operator.refused(4, "fleet", "transcript", lease.run)


def test_what_tildone_run_prints_is_told_once(operator: Operator, runs: Path) -> None:
    [lease] = begin(operator)
    (runs / f"{lease.run}.1.output").write_text(lines(*OWN))

    assert operator.fleet("transcript", lease.run) == "assistant: Hello.\nresult: ok\n"
