"""Permission questions of RPC clients: a choice between labels that say what each answer covers."""

import asyncio
from typing import Any

import pytest

from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.rpc import RpcUI

REQUEST = PermissionRequest(
    "Run this command?", ("git push", "git tag x"), always="git push *", plan=("git push", "ls")
)
OPTIONS = [
    "Allow once",
    "Always allow in this conversation: git push *",
    "Allow 2 commands of the plan: git push; ls",
    "Deny",
]


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({"value": OPTIONS[0]}, PermissionReply(PermissionAnswer.ONCE)),
        ({"value": OPTIONS[1]}, PermissionReply(PermissionAnswer.ALWAYS)),
        ({"value": OPTIONS[2]}, PermissionReply(PermissionAnswer.PLAN)),
        ({"value": OPTIONS[3]}, PermissionReply(PermissionAnswer.NO)),
        ({"value": "Allow"}, None),
        ({"cancelled": True}, None),
    ],
)
async def test_a_client_chooses_an_answer(answer: dict[str, Any], reply: PermissionReply | None) -> None:
    sent: list[dict[str, Any]] = []
    ui = RpcUI(sent.append)
    asking = asyncio.create_task(ui.ask_permission(REQUEST))
    await asyncio.sleep(0)

    ui.accept_answer({"id": sent[0]["id"], **answer})

    assert await asking == reply
    assert sent[0]["title"] == "Run this command?\ngit push\ngit tag x"
    assert sent[0]["options"] == OPTIONS
