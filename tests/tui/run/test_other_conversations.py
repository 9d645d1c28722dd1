"""The tree of a conversation, forks, and other conversations."""

import pytest

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import Connect, running

pytestmark = pytest.mark.usefixtures("folder")


async def test_a_message_is_edited_and_both_branches_are_in_the_tree(connect: Connect) -> None:
    answers = [{"text": f"Answer {number}."} for number in range(4)]
    with connect(ModelServer(*answers)) as server:
        async with running("--model", CHAT) as screen:
            await screen.send("First thing")
            await screen.shows("Answer 0.")
            await screen.send("Second thing")
            await screen.shows("Answer 1.")
            await screen.press("tab", "K", "K", "e")
            await screen.until(lambda: screen.draft == "Second thing")
            await screen.hides("Answer 1.")
            await screen.send("Another way")
            await screen.shows("Answer 2.")
            assert "Second thing" not in str(server.requests[-1].messages)
            await screen.press("f3")
            await screen.shows("○ First thing", "├─╮", "│ ○ Second thing", "● Another way", "you are here")
            await screen.press("k", "enter")
            await screen.shows("Answer 1.")
            await screen.hides("Answer 2.")


async def test_a_fork_begins_a_new_conversation_with_the_text(connect: Connect) -> None:
    with connect(ModelServer({"text": "One."}, {"text": "Two."})):
        async with running("--model", CHAT) as screen:
            await screen.send("Begin")
            await screen.shows("One.")
            first = screen.talk.host.transcript.file if screen.talk.host else None
            await screen.press("f3", "f")
            await screen.until(lambda: screen.draft == "Begin")
            await screen.hides("One.")
            assert screen.talk.host is not None
            assert screen.talk.host.transcript.file != first


async def test_a_label_is_shown_in_the_tree(connect: Connect) -> None:
    with connect(ModelServer({"text": "One."})):
        async with running("--model", CHAT) as screen:
            await screen.send("Begin")
            await screen.shows("One.")
            await screen.press("f3", "r")
            await screen.type("start")
            await screen.press("enter", "f3")
            await screen.shows("“start”")
            await screen.press("escape")
            await screen.hides("“start”")
            await screen.until(lambda: screen.app.composer.has_focus)


async def test_another_conversation_is_found_and_continued(connect: Connect) -> None:
    with connect(ModelServer({"text": "About apples."}, {"text": "About pears."}, {"text": "More apples."})) as server:
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of apples")
            await screen.shows("About apples.")
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of pears")
            await screen.shows("About pears.")
            await screen.press("f4")
            await screen.shows("Conversations", "Tell me of apples", "Tell me of pears")
            await screen.type("apple")
            await screen.hides("Tell me of pears")
            await screen.press("enter")
            await screen.shows("About apples.")
            await screen.send("More")
            await screen.shows("More apples.")

    assert "Tell me of apples" in str(server.requests[-1].messages)
