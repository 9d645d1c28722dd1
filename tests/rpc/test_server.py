"""Questions to a client, and a client that disconnects, over real pipes."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from tests.extensions.stage import Stage
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.run.host import ExtensionAPI
from tildone.run.rpc import ClientStreams, RpcUI, serve
from tildone.run.transcript import Conversations

Record = dict[str, Any]
Question = Callable[[RpcUI], Any]


class Connection:
    """Both ends of the pipes between a client and a host."""

    def __init__(self) -> None:
        self._from_client, self._to_host = os.pipe()
        self._from_host, self._to_client = os.pipe()
        self.out: BinaryIO = os.fdopen(self._to_client, "wb")
        self.source: BinaryIO = os.fdopen(self._from_client, "rb")
        self.client_out: BinaryIO = os.fdopen(self._to_host, "wb", buffering=0)
        self.client_in: BinaryIO = os.fdopen(self._from_host, "rb")

    def send(self, **record: Any) -> None:
        self.client_out.write(json.dumps(record).encode() + b"\n")

    async def question(self) -> Record:
        """Return the next question."""
        while True:
            record: Record = json.loads(await asyncio.to_thread(self.client_in.readline))
            if record["type"] == "extension_ui_request":
                return record

    def close(self) -> None:
        for end in (self.client_out, self.out, self.client_in, self.source):
            end.close()


async def ask_client(question: Question, reply: Callable[[Connection, Record], None]) -> Any:
    """Return the answer that an extension gets to its question if the client replies like that."""
    connection = Connection()
    stage = Stage(INDEXED)
    client = ClientStreams(connection.source, connection.out)
    ui = RpcUI(client.send)
    stage.host.ui = ui
    answers: list[Any] = []

    async def ask(_arguments: str, _ctx: Any) -> None:
        answers.append(await question(ui))
        connection.client_out.close()

    def plug(api: ExtensionAPI) -> None:
        api.register_command("ask", "Ask.", ask)

    stage.host.load([("test", plug)])
    conversations = Conversations(None, ".", now=lambda: 0, new_conversation_id=lambda: "s")
    serving = asyncio.create_task(serve(stage.host, conversations, ui, client))
    connection.send(type="prompt", message="/ask")
    reply(connection, await connection.question())
    await asyncio.wait_for(serving, 20)
    connection.close()
    return answers[0]


async def test_every_question_gets_the_answer_with_its_id() -> None:
    """An answer with an unknown id is ignored."""

    def value(connection: Connection, request: Record) -> None:
        connection.send(type="extension_ui_response", id="nobody asked", value="no")
        connection.send(type="extension_ui_response", id=request["id"], value="b")

    def yes(connection: Connection, request: Record) -> None:
        connection.send(type="extension_ui_response", id=request["id"], confirmed=True)

    def dismissed(connection: Connection, request: Record) -> None:
        connection.send(type="extension_ui_response", id=request["id"], cancelled=True)

    assert await ask_client(lambda ui: ui.select("Which?", ["a", "b"]), value) == "b"
    assert await ask_client(lambda ui: ui.input("Name?"), value) == "b"
    assert await ask_client(lambda ui: ui.editor("Text?", "old"), value) == "b"
    assert await ask_client(lambda ui: ui.confirm("Sure?", "Really?"), yes) is True
    assert await ask_client(lambda ui: ui.confirm("Sure?", "Really?"), dismissed) is False
    assert await ask_client(lambda ui: ui.select("Which?", ["a"]), dismissed) is None


async def test_a_question_that_is_not_answered_in_time_is_cancelled() -> None:
    """The request contains the timeout."""

    def silent(_line: Connection, request: Record) -> None:
        assert request["timeout"] == 10

    assert await ask_client(lambda ui: ui.confirm("Sure?", "Really?", 0.01), silent) is False


async def test_questions_are_cancelled_when_the_client_disconnects() -> None:
    """The host ends, and a question for confirmation is answered with False."""

    def disconnect(connection: Connection, _request: Record) -> None:
        connection.client_out.close()

    assert await ask_client(lambda ui: ui.confirm("Sure?", "Really?"), disconnect) is False
