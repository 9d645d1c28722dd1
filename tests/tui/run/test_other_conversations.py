"""The tree of a conversation, forks, and other conversations."""

import pytest

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import Connect, Talk, running

pytestmark = pytest.mark.usefixtures("folder")


async def test_a_message_is_edited_and_both_branches_are_in_the_tree(talk: Talk) -> None:
    answers = [{"text": f"Answer {number}."} for number in range(4)]
    async with talk(ModelServer(*answers)) as screen:
        await screen.send("First thing", "Answer 0.")
        await screen.send("Second thing", "Answer 1.")
        await screen.sees("tab K K e", lambda: screen.draft == "Second thing")
        await screen.hides("Answer 1.")
        await screen.send("Another way", "Answer 2.")
        assert "Second thing" not in str(screen.server.requests[-1].messages)
        await screen.sees("f3", "○ First thing", "├─╮", "│ ○ Second thing", "● Another way", "you are here")
        await screen.sees("k enter", "Answer 1.")
        await screen.hides("Answer 2.")


async def test_a_fork_begins_a_new_conversation_with_the_text(talk: Talk) -> None:
    async with talk(ModelServer({"text": "One."}, {"text": "Two."})) as screen:
        await screen.send("Begin", "One.")
        first = screen.talk.host.transcript.file if screen.talk.host else None
        await screen.sees("f3 f", lambda: screen.draft == "Begin")
        await screen.hides("One.")
        assert screen.talk.host is not None
        assert screen.talk.host.transcript.file != first


async def test_a_label_is_shown_in_the_tree(talk: Talk) -> None:
    async with talk(ModelServer({"text": "One."})) as screen:
        await screen.send("Begin", "One.")
        await screen.press("f3", "r")
        await screen.type("start")
        await screen.sees("enter f3", "“start”")
        await screen.press("escape")
        await screen.hides("“start”")
        await screen.until(lambda: screen.app.composer.has_focus)


async def test_another_conversation_is_found_and_continued(connect: Connect) -> None:
    with connect(ModelServer({"text": "About apples."}, {"text": "About pears."}, {"text": "More apples."})) as server:
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of apples", "About apples.")
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of pears", "About pears.")
            await screen.sees("f4", "Conversations", "Tell me of apples", "Tell me of pears")
            await screen.type("apple")
            await screen.hides("Tell me of pears")
            await screen.sees("enter", "About apples.")
            await screen.send("More", "More apples.")

    assert "Tell me of apples" in str(server.requests[-1].messages)
