"""Calls and requests in the conversation: what waits for the person, how long a call took, and what is repeated."""

import asyncio
import re
from pathlib import Path
from time import monotonic

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.run.plan_calls import call
from tests.tui.run.run_screen import DONE, Screen, Talk
from tildone.base import replace
from tildone.run.model import RetryPolicy
from tildone.screens.run import conversation
from tildone.screens.transcript.blocks import CallBlock

pytestmark = pytest.mark.usefixtures("folder")

SLOW_DOWN: Turn = {"error": 429, "retry_after": 30, "message": "slow down"}


def calls(screen: Screen) -> list[CallBlock]:
    return [entry.block for entry in screen.talk.view.document.entries if isinstance(entry.block, CallBlock)]


async def test_a_call_that_asks_says_so_and_its_one_time_is_that_of_the_execution(
    talk: Talk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, hours = "until [ -e go ]; do sleep 0.05; done", [0.0]
    monkeypatch.setattr(conversation, "monotonic", lambda: monotonic() + hours[0] * 3600)
    async with talk(ModelServer(call("bash", command=gate), DONE), "Go") as screen:
        await screen.asked()
        await screen.shows("? asks you")
        assert "running" not in screen.text
        hours[0] = 5
        await screen.press("y")
        await screen.hides("? asks you")
        await screen.shows("Bash: running...")
        (folder / "go").touch()
        await screen.shows("✓", "Done: 0 lines", "Done.")
        [ended] = calls(screen)
        assert "took" not in screen.text

    assert ended.seconds is not None
    assert ended.seconds < 3600


async def test_a_call_that_is_denied_or_stopped_while_it_asks_has_ended(talk: Talk) -> None:
    script: tuple[Turn, ...] = (call("bash", command="rm a"), call("bash", command="rm b"), DONE)
    async with talk(ModelServer(*script), "Go") as screen:
        await screen.asked()
        await screen.sees("n enter", "Denied by the person", "rm b")
        await screen.asked()
        await screen.press("escape", "escape")
        await screen.shows("Interrupted.")
        assert "asks you" not in screen.text
        assert all(each.seconds is not None for each in calls(screen))


async def test_each_call_that_waits_for_one_answer_asks(talk: Talk, tmp_path: Path) -> None:
    """The answer to the first settles the question of the second."""
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    reads = [["read", {"path": f"{tmp_path}/outside"}]] * 2
    async with talk(ModelServer({"tools": reads}, DONE), "Go") as screen:
        await screen.asked("? Read")
        await screen.until(lambda: screen.text.count("? asks you") == 2)
        await screen.sees("a a", "Done.")
        assert "asks you" not in screen.text


class Gate:
    """The pauses before requests are repeated: each ends when it is opened."""

    def __init__(self) -> None:
        self._opened = asyncio.Semaphore(0)

    async def sleep(self, _seconds: float) -> None:
        await self._opened.acquire()

    def open(self) -> None:
        self._opened.release()


def gated(screen: Screen) -> Gate:
    gate = Gate()
    assert screen.talk.host
    screen.talk.host.retry = replace(RetryPolicy(), sleep=gate.sleep)
    return gate


async def test_a_request_that_is_repeated_is_one_line_that_changes(talk: Talk) -> None:
    async with talk(ModelServer(SLOW_DOWN, SLOW_DOWN, {"text": "Answered."})) as screen:
        gate = gated(screen)
        await screen.send("Go")
        await screen.until(lambda: bool(re.search(r"retrying in (30|2\d) s \(1 of 3\)", screen.text)))
        first = re.findall(r"retrying in (\d+) s", screen.text)
        await screen.until(lambda: re.findall(r"retrying in (\d+) s", screen.text) not in ([], first))
        gate.open()
        await screen.until(lambda: bool(re.search(r"retrying in \d+ s \(2 of 3\)", screen.text)))
        assert screen.text.count("slow down") == 1
        assert "✗" not in screen.text
        gate.open()
        await screen.shows("Answered.", "slow down · answered (retry 2 of 3)")
        assert screen.text.count("slow down") == 1
        await screen.until(lambda: not screen.talk.is_working)
        screen.talk.show()
        await screen.shows("retried", "Answered.")
        assert screen.text.count("slow down") == 1


async def test_a_request_that_fails_for_good_is_one_failure_with_its_keys(talk: Talk) -> None:
    async with talk(ModelServer(*[SLOW_DOWN] * 4)) as screen:
        gate = gated(screen)
        await screen.send("Go")
        for number in (1, 2, 3):
            await screen.until(lambda number=number: f"({number} of 3)" in screen.text)  # type: ignore[misc]  # bound
            gate.open()
        await screen.shows("✗", "try again")
        assert screen.text.count("slow down") == 1
        assert "of 3)" not in screen.text
        screen.talk.show()
        await screen.hides("try again")
        assert screen.text.count("slow down") == 1


async def test_a_pause_that_is_interrupted_leaves_the_failure(talk: Talk) -> None:
    async with talk(ModelServer(SLOW_DOWN)) as screen:
        gated(screen)
        await screen.send("Go")
        await screen.shows("(1 of 3)")
        await screen.sees("escape", "✗", "try again")
        assert "of 3)" not in screen.text


async def test_a_repeated_request_that_is_interrupted_says_so(talk: Talk) -> None:
    async with talk(ModelServer(SLOW_DOWN, {"text": "Never", "hold": 0})) as screen:
        gate = gated(screen)
        await screen.send("Go")
        await screen.shows("(1 of 3)")
        gate.open()
        await screen.until(screen.server.held.is_set)
        await screen.sees("escape", "interrupted (retry 1 of 3)", "Interrupted.")
