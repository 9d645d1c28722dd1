"""What the person does beside the model in full screen: own commands, copying, and reading the history in a pager."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.run.plan_calls import call
from tests.run.run_workspace import WRITE
from tests.tui.run.run_screen import DONE, STOPS, Screen, Talk, running
from tildone.run.tools.typed import NO_COMMAND
from tildone.screens.run.app import RunApp

pytestmark = pytest.mark.usefixtures("folder")

GATED = "touch begun; until [ -e go ]; do sleep 0.05; done; echo over"


async def typed(screen: Screen, command: str) -> None:
    screen.app.composer.fill(command)
    await screen.press("enter")


async def test_a_command_runs_without_a_question_and_the_model_reads_it(talk: Talk) -> None:
    async with talk(ModelServer(DONE), size=(80, 50)) as screen:
        await typed(screen, "!echo one; seq 12; exit 3")
        await screen.shows("! echo one; seq 12; exit 3 ✗", "one", "12", "Exit code 3")
        assert "ctrl+o" not in screen.text
        assert not screen.talk.is_working
        assert screen.server.requests == []
        await screen.send("Go", "Done.")
        await typed(screen, "!!echo hidden")
        await screen.shows("!! echo hidden ✓")
        await screen.send("Again")
        await screen.until(lambda: len(screen.server.requests) == 2)
        # What was shown is shown again when the conversation is opened later.
        screen.talk.show()
        await screen.hides("✓")
        await screen.shows("! echo one; seq 12; exit 3 ✗", "!! echo hidden", "Exit code 3")

    first, second = (str(request.messages) for request in screen.server.requests)
    assert "I ran a command in the shell: echo one; seq 12; exit 3" in first
    assert "It ended with exit code 3." in first
    assert "echo one" in second
    assert "hidden" not in second


async def test_a_command_while_the_model_works_is_read_before_its_next_step(talk: Talk) -> None:
    slow: Turn = {**call("bash", command="true"), "hold": 1}
    async with talk(ModelServer(slow, DONE), "Go", "--allow", "true") as screen:
        await screen.until(screen.server.held.is_set)
        await typed(screen, "!echo beside")
        await screen.shows("! echo beside ✓")
        screen.server.release()
        await screen.shows("Done.")

    assert "echo beside" in str(screen.server.requests[1].messages)


async def test_escape_stops_the_command_and_a_second_one_waits_for_it(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await typed(screen, f"!echo first; {GATED}")
        await screen.shows("first", "escape stops it")
        await typed(screen, "!echo second")
        await screen.shows("A command is still running: wait for its end, or stop it")
        await screen.sees("escape", "✗", "Aborted")
        await typed(screen, "!echo third")
        await screen.shows("! echo third ✓")
        await screen.send("Go", "Done.")

    assert not (folder / "go").exists()
    assert "It was cancelled." in str(screen.server.requests[0].messages)


async def test_escape_stops_the_command_before_the_turn(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer({"text": "Slow.", "hold": 1}), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await typed(screen, f"!{GATED}")
        await screen.until((folder / "begun").exists)
        await screen.sees("escape", "Aborted")
        assert screen.talk.is_working
        await screen.sees("escape", "Interrupted.")


async def test_leaving_ends_the_command(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer()) as screen:
        await typed(screen, "!sh -c 'echo $$ > begun; sleep 600'")
        await screen.until(lambda: (folder / "begun").exists() and (folder / "begun").read_text() != "")
        await screen.press("ctrl+d")

    pid = int((folder / "begun").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_a_command_writes_is_harmless_and_its_secrets_are_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the environment of the person."""
    monkeypatch.setenv("MY_TOKEN", "s3cret-s3cret")
    async with talk(ModelServer(DONE)) as screen:
        await typed(screen, r"""!printf 'a\033[2Jb\007c\n'; test -n "$MY_TOKEN" && echo "$MY_TOKEN." """)
        await screen.shows("ab�c", "[redacted].")
        await screen.send("Go", "Done.")

    assert "s3cret-s3cret" not in str(screen.server.requests[0].messages)


async def test_a_long_output_is_cut_and_the_model_can_read_all_of_it(talk: Talk) -> None:
    async with talk(ModelServer(DONE), size=(120, 40)) as screen:
        await typed(screen, "!seq 3000")
        await screen.shows("all of it: ", "3000")
        await screen.send("Go", "Done.")
        path = str(screen.server.requests[0].messages).split("all of it is in ")[1].split(".log")[0] + ".log"
        screen.server.script = (*screen.server.script[:0], DONE, call("read", path=path, limit=2), DONE)
        await screen.send("Read it")
        await screen.until(lambda: len(screen.server.requests) == 3)
        assert "Read this file" not in screen.text

    assert "1\\n2" in str(screen.server.requests[-1].messages[-1])


async def test_no_command_a_missing_folder_and_a_message_that_begins_with_the_sign(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await typed(screen, "!!")
        await screen.shows(NO_COMMAND)
        await screen.send(r"\!important", "❯ !important", "Done.")
        os.rename(folder, f"{folder}-moved")
        await typed(screen, "!ls")
        await screen.shows("✗", "The working directory")
        os.rename(f"{folder}-moved", folder)


async def test_a_typed_command_stops_the_countdown_and_belongs_to_its_conversation(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows("Goes on by itself")
        await screen.type("!")
        await screen.hides("Goes on by itself")
        await typed(screen, f"!{GATED}")
        await screen.until((folder / "begun").exists)
        before = screen.talk.transcript
        await screen.send("/clear", "A new conversation begins.")
        (folder / "go").touch()
        await screen.talk.typed.over()
        await screen.until(lambda: "bashExecution" in str(before.entries[-1].record))
        assert screen.talk.transcript is not before
        assert screen.talk.transcript.messages() == []


async def test_a_run_that_ends_by_itself_waits_for_the_command(folder: Path) -> None:
    (folder / "plan.md").write_text("- [ ] One: `until [ -e first ]; do sleep 0.05; done`\n", encoding="utf-8")
    async with running("plan.md", "--allow", "*") as screen:
        await screen.shows("running")
        await typed(screen, f"!{GATED}")
        await screen.until((folder / "begun").exists)
        (folder / "first").touch()
        await screen.until(lambda: not screen.talk.is_working)
        assert screen.app.is_running
        (folder / "go").touch()
        await screen.until(lambda: not screen.app.is_running)


async def test_the_last_answer_with_a_text_is_copied_by_a_key_and_by_a_command(talk: Talk) -> None:
    script: tuple[Turn, ...] = ({"text": "The *whole*\x1b answer."}, call("bash", command="true"), DONE)
    async with talk(ModelServer(*script), "--allow", "true") as screen:
        await screen.sees("alt+a", "There is no answer to copy")
        await screen.send("Go", "answer.", "idle")
        await screen.sees("alt+a", "Copied, if the terminal allows it")
        assert screen.app.clipboard == "The *whole*␛ answer."
        await screen.send("Again", "Done.", "idle")
        await screen.send("/copy")
        await screen.until(lambda: screen.app.clipboard == "Done.")


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own pager, which leaves what it has read in this file. The screen of a test has no terminal."""
    read, program = tmp_path / "read", tmp_path / "pager"
    program.write_text(f"#!/bin/sh\ncat > {read}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PAGER", str(program))
    monkeypatch.setattr(RunApp, "suspend", lambda _: nullcontext())
    return read


async def test_the_history_is_read_in_the_pager_of_the_person(talk: Talk, pager: Path) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.send("/todo add Buy \x1b[2Jmilk", "0 of 1 closed")
        await screen.send("/log")
        await screen.until(lambda: pager.exists() and "␛[2Jmilk" in pager.read_text(encoding="utf-8"))
        await screen.send("/log --nonsense", "nonsense")


@pytest.mark.usefixtures("pager")
async def test_without_a_pager_the_history_is_read_on_the_screen(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "cat")
    async with talk(ModelServer(DONE)) as screen:
        await screen.send("/todo add Buy milk", "0 of 1 closed")
        await screen.send("/log", "esc closes this", "Buy milk")
        await screen.press("escape")
        await screen.hides("esc closes this")
        assert screen.app.composer.has_focus
