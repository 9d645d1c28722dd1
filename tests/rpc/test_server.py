"""A client that hangs up, and questions that are asked of it, over real pipes."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from tests.extensions.stage import Stage
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.host.conversations import Conversations
from tildone.host.extension_api import ExtensionAPI
from tildone.rpc.server import sender, serve
from tildone.rpc.ui import RpcUI

Record = dict[str, Any]
Question = Callable[[RpcUI], Any]


class Line:
    """Both ends of a line between a client and a host."""

    def __init__(self) -> None:
        self._from_client, self._to_host = os.pipe()
        self._from_host, self._to_client = os.pipe()
        self.out: BinaryIO = os.fdopen(self._to_client, "wb")
        self.source: BinaryIO = os.fdopen(self._from_client, "rb")
        self.typed: BinaryIO = os.fdopen(self._to_host, "wb", buffering=0)
        self.shown: BinaryIO = os.fdopen(self._from_host, "rb")

    def send(self, **record: Any) -> None:
        self.typed.write(json.dumps(record).encode() + b"\n")

    async def asked(self) -> Record:
        """The next question."""
        while True:
            record: Record = json.loads(await asyncio.to_thread(self.shown.readline))
            if record["type"] == "extension_ui_request":
                return record

    def close(self) -> None:
        for end in (self.typed, self.out, self.shown, self.source):
            end.close()


async def answered(question: Question, reply: Callable[[Line, Record], None]) -> Any:
    """What an extension's question comes to when the client replies like that."""
    line = Line()
    stage = Stage(INDEXED)
    send = sender(line.out)
    ui = RpcUI(send)
    stage.host.runtime.ui = ui
    found: list[Any] = []

    async def ask(_arguments: str, _ctx: Any) -> None:
        found.append(await question(ui))
        line.typed.close()

    def plug(api: ExtensionAPI) -> None:
        api.register_command("ask", "Ask.", ask)

    stage.host.load([("test", plug)])
    conversations = Conversations(None, ".", now=lambda: 0, new_conversation_id=lambda: "s")
    serving = asyncio.create_task(serve(stage.host, conversations, ui, send, line.source))
    line.send(type="prompt", message="/ask")
    reply(line, await line.asked())
    await asyncio.wait_for(serving, 20)
    line.close()
    return found[0]


async def test_every_question_gets_the_answer_that_bears_its_id() -> None:
    """An answer to a question that nobody asked is ignored."""

    def value(line: Line, asked: Record) -> None:
        line.send(type="extension_ui_response", id="nobody asked", value="no")
        line.send(type="extension_ui_response", id=asked["id"], value="b")

    def yes(line: Line, asked: Record) -> None:
        line.send(type="extension_ui_response", id=asked["id"], confirmed=True)

    def dismissed(line: Line, asked: Record) -> None:
        line.send(type="extension_ui_response", id=asked["id"], cancelled=True)

    assert await answered(lambda ui: ui.select("Which?", ["a", "b"]), value) == "b"
    assert await answered(lambda ui: ui.input("Name?"), value) == "b"
    assert await answered(lambda ui: ui.editor("Text?", "old"), value) == "b"
    assert await answered(lambda ui: ui.confirm("Sure?", "Really?"), yes) is True
    assert await answered(lambda ui: ui.confirm("Sure?", "Really?"), dismissed) is False
    assert await answered(lambda ui: ui.select("Which?", ["a"]), dismissed) is None


async def test_a_question_that_waited_too_long_is_answered_with_nothing() -> None:
    """The host says how long it waits."""

    def silent(_line: Line, asked: Record) -> None:
        assert asked["timeout"] == 10

    assert await answered(lambda ui: ui.confirm("Sure?", "Really?", 0.01), silent) is False


async def test_a_client_that_hangs_up_leaves_no_question_open() -> None:
    """The host ends, and whoever asked goes on with a no."""

    def hang_up(line: Line, _asked: Record) -> None:
        line.typed.close()

    assert await answered(lambda ui: ui.confirm("Sure?", "Really?"), hang_up) is False
