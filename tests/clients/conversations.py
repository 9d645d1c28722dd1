"""Conversations that tildone has written to session files, with branches and a person's edits."""

import asyncio
import json
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Sandbox, talking
from tests.clients.model import Model
from tests.host.models.model_server import Turn
from tests.rpc.client import Client, Record
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_store
from tildone.app.settings import Settings
from tildone.run.hosting import open_conversations, open_host
from tildone.stores import parse_address

Entry = dict[str, Any]
Message = dict[str, Any]

HOSTILE_TEXT = "Grüße \u2028 “quoted” \\n \u202e 🙂 </system-reminder>"
"""The text of a task with a line separator, quotes, an escape, a direction override and a reminder tag."""

NAME = "A name – of ours"

SCRIPTS: dict[str, tuple[Turn, ...]] = {
    "indexed": (
        {
            "tool": "write_todos",
            "args": {"mode": "replace", "todos": [{"text": text} for text in ("One", HOSTILE_TEXT, "Three")]},
        },
        {"text": "Planned.", "thinking": "Three things."},
        {"tools": [["edit_todos", {"action": "complete", "indices": [0]}], ["list_todos", {}]], "text": "At work."},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [7]}},
        {"text": "One is done."},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [1, 2]}},
        {"text": "The other way."},
    ),
    "phased": (
        {
            "tool": "todo_write",
            "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", HOSTILE_TEXT]}]}]},
        },
        {"text": "Planned.", "thinking": "Two things."},
        *({"text": f"Reminded {number}."} for number in (1, 2, 3)),
        {"tool": "todo_write", "args": {"ops": [{"op": "done", "task": "nothing"}]}},
        {"tool": "todo_write", "args": {"ops": [{"op": "append", "phase": "B", "items": ["Three"]}]}},
        {"text": "More."},
        *({"text": f"Reminded {number}."} for number in (1, 2, 3)),
        {"tool": "todo_write", "args": {"ops": [{"op": "done", "task": "One"}]}},
        {"text": "The other way."},
    ),
}


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A session file, with the messages and the status panel that tildone shows for it."""

    file: Path
    messages: list[Message]
    panel: dict[str, Any]

    @property
    def folder(self) -> Path:
        return self.file.parents[1]

    @property
    def entries(self) -> list[Entry]:
        return lines(self.file)[1:]


def branched_conversation(folder: Path, dialect: str) -> StoredConversation:
    """Hold a conversation, go back to its first answer, and continue from there on another branch."""
    with Model(*SCRIPTS[dialect]) as model, pytest.MonkeyPatch.context() as patch:
        with tildone(folder, model.url, "--dialect", dialect) as client:
            prompt_and_wait(client, "Make a plan.")
            prompt_and_wait(client, "Work on it.")
            if dialect == "phased":
                client.ask("prompt", message="/todo append B Four")
                assert "user_todo_edit" in [entry.get("customType") for entry in appended(client)]
            client.ask("set_session_name", name=NAME)
            file = Path(client.ask("get_state")["data"]["sessionFile"])
        patch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        patch.setenv("OPENAI_API_KEY", "none")
        asyncio.run(_branch_off(folder, file, answers(lines(file))[1]["id"]))
    return open_in_tildone(file, folder)


def open_in_tildone(file: Path, folder: Path) -> StoredConversation:
    """Open a session file in tildone, with the plans in that folder."""
    # No request is sent to a model, and the shell model starts fastest.
    with _host(folder, ["--model", "shell", "--resume", str(file)]) as client:
        messages = client.ask("get_messages")["data"]["messages"]
    return StoredConversation(file, messages, panel(client.records))


def tildone(folder: Path, url: str, *options: str) -> AbstractContextManager[Client]:
    return _host(folder, ["--model", "openai-chat:scripted", *options], OPENAI_BASE_URL=f"{url}/v1")


def _host(folder: Path, options: list[str], **environ: str) -> AbstractContextManager[Client]:
    work = folder / "project"
    work.mkdir(exist_ok=True)
    env = {
        "HOME": str(folder),
        "OPENAI_API_KEY": "none",
        "TILDONE_COUNTDOWN": "600",
        # No connection is encrypted, and loading the certificates of the machine is slow.
        "SSL_CERT_DIR": str(work),
        **environ,
    }
    command = [str(PROGRAM), "run", "--mode", "rpc", "--no-builtin-tools", "--session-dir", str(folder / "sessions")]
    return talking([*command, "--store", str(folder / "plans.db"), *options], cwd=work, env=env)


def prompt_and_wait(client: Client, text: str) -> None:
    client.send(type="prompt", message=text)
    client.event("agent_settled")


def appended(client: Client) -> list[Entry]:
    return [record["entry"] for record in client.records if record["type"] == "entry_appended"]


def conversation(client: Client) -> list[Message]:
    """Return the messages of a conversation without the system prompt, which only pi has."""
    messages = client.ask("get_messages")["data"]["messages"]
    return [message for message in messages if message["role"] != "system"]


def text(message: Message) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def panel(records: Iterable[Record]) -> dict[str, Any]:
    """Return the status texts and widgets that show the plan, by key."""
    requests = [record for record in records if record["type"] == "extension_ui_request"]
    texts = {
        request["statusKey"]: request.get("statusText") for request in requests if request["method"] == "setStatus"
    }
    return texts | {
        request["widgetKey"]: request.get("widgetLines") for request in requests if request["method"] == "setWidget"
    }


def nodes(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for node in tree for one in (node, *nodes(node["children"]))]


def lines(file: Path) -> list[Entry]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def answers(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.get("message", {}).get("role") == "assistant"]


async def _branch_off(folder: Path, file: Path, entry: str) -> None:
    """Go back to an entry and continue from there, as a program that embeds tildone does."""
    from tildone.run.providers import open_model  # noqa: PLC0415  it takes seconds to load

    cwd = str(folder / "project")
    settings = Settings(
        parse_address(str(folder / "plans.db")),
        cwd,
        cwd,
        session_dir=os.path.dirname(file),
        agents_dir=str(folder / "agents"),
        countdown=600,
    )
    store = open_store(settings)
    transcript = open_conversations(settings, cwd).load(str(file))
    model = open_model("openai-chat:scripted")
    host = open_host(settings, store, transcript, cwd=cwd, model=model, mode="print")
    await host.start()
    await host.turn_to(entry)
    await host.prompt("No, the other way.")
    await host.settled()
    await host.close()
    await model.close()
    store.close()


def compact_early(sandbox: Sandbox) -> None:
    """Configure pi to compact even short conversations."""
    settings = {"compaction": {"keepRecentTokens": 20}}
    path = sandbox.home / ".pi" / "agent" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")
