"""Conversations that tildone has had, as they stand in session files: with branches, a person's edits, and a fork."""

import asyncio
import json
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import talking
from tests.clients.model import Model
from tests.host.models.wire import Turn
from tests.rpc.client import PROGRAM, Client, Record
from tildone.config import Settings
from tildone.log.address import parse_address
from tildone.wiring import open_store
from tildone.wiring.hosting import open_conversations, open_host

Entry = dict[str, Any]
Message = dict[str, Any]

ODD = "Grüße \u2028 “quoted” \\n \u202e 🙂 </system-reminder>"
"""A task that no line, no quote and no direction is safe from."""

NAME = "A name – of ours"

SCRIPTS: dict[str, tuple[Turn, ...]] = {
    "indexed": (
        {
            "tool": "write_todos",
            "args": {"mode": "replace", "todos": [{"text": text} for text in ("One", ODD, "Three")]},
        },
        {"text": "Planned.", "thinking": "Three things."},
        {"tools": [["edit_todos", {"action": "complete", "indices": [0]}], ["list_todos", {}]], "text": "At work."},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [7]}},
        {"text": "One is done."},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [1, 2]}},
        {"text": "The other way."},
    ),
    "phased": (
        {"tool": "todo_write", "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", ODD]}]}]}},
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
class Told:
    """A session file, and what tildone says of it: the conversation, and what it shows of the plan."""

    file: Path
    messages: list[Message]
    panel: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Where plans and conversations are kept."""
        return self.file.parents[1]

    @property
    def entries(self) -> list[Entry]:
        """What the file holds, without its header."""
        return lines(self.file)[1:]


def branched(folder: Path, dialect: str) -> Told:
    """A conversation that was gone back in, and went another way from its first answer on."""
    with Model(*SCRIPTS[dialect]) as model, pytest.MonkeyPatch.context() as patch:
        with tildone(folder, model.url, "--dialect", dialect) as client:
            said(client, "Make a plan.")
            said(client, "Work on it.")
            if dialect == "phased":
                client.ask("prompt", message="/todo append B Four")
                assert "user_todo_edit" in [entry.get("customType") for entry in appended(client)]
            client.ask("set_session_name", name=NAME)
            file = Path(client.ask("get_state")["data"]["sessionFile"])
        patch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        patch.setenv("OPENAI_API_KEY", "none")
        asyncio.run(_another_way(folder, file, answers(lines(file))[1]["id"]))
    return told(file, folder)


def told(file: Path, folder: Path) -> Told:
    """A session file, opened by tildone with plans of its own in the folder."""
    # Nothing is asked of a model, and one that needs no library is there much sooner.
    plan = folder / "project" / "plan.md"
    plan.parent.mkdir(exist_ok=True)
    plan.write_text("- [ ] Nothing: `true`\n", encoding="utf-8")
    with _host(folder, [plan.name, "--session", str(file)]) as client:
        messages = client.ask("get_messages")["data"]["messages"]
    return Told(file, messages, panel(client.records))


def tildone(folder: Path, url: str, *options: str) -> AbstractContextManager[Client]:
    """A host that asks the model at this address, and does not go on by itself."""
    return _host(folder, ["--model", "openai-chat:scripted", *options], OPENAI_BASE_URL=f"{url}/v1")


def _host(folder: Path, options: list[str], **environ: str) -> AbstractContextManager[Client]:
    """A host whose plans and conversations are in the folder."""
    work = folder / "project"
    work.mkdir(exist_ok=True)
    env = {
        "HOME": str(folder),
        "OPENAI_API_KEY": "none",
        "TILDONE_COUNTDOWN": "600",
        # Nothing is encrypted here, and reading a machine's certificates takes longer than all the rest.
        "SSL_CERT_DIR": str(work),
        **environ,
    }
    command = [PROGRAM, "run", "--mode", "rpc", "--no-builtin-tools", "--session-dir", str(folder / "sessions")]
    return talking([*command, "--store", str(folder / "plans.db"), *options], cwd=work, env=env)


def said(client: Client, text: str) -> None:
    """Say something, and hear it out."""
    client.send(type="prompt", message=text)
    client.event("agent_settled")


def appended(client: Client) -> list[Entry]:
    """The entries that were told of as they were written."""
    return [record["entry"] for record in client.records if record["type"] == "entry_appended"]


def conversation(client: Client) -> list[Message]:
    """What was said, without the prompt of the system, which is pi's own and nobody else's."""
    messages = client.ask("get_messages")["data"]["messages"]
    return [message for message in messages if message["role"] != "system"]


def text(message: Message) -> str:
    """The words of a message, without thinking and calls."""
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def panel(records: Iterable[Record]) -> dict[str, Any]:
    """What is shown of the plan, by the keys it is shown under."""
    asked = [record for record in records if record["type"] == "extension_ui_request"]
    texts = {one["statusKey"]: one.get("statusText") for one in asked if one["method"] == "setStatus"}
    return texts | {one["widgetKey"]: one.get("widgetLines") for one in asked if one["method"] == "setWidget"}


def nodes(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A tree's nodes, each before its children."""
    return [one for node in tree for one in (node, *nodes(node["children"]))]


def lines(file: Path) -> list[Entry]:
    """Every line of a session file."""
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def answers(entries: Iterable[Entry]) -> list[Entry]:
    """The entries in which a model says something."""
    return [entry for entry in entries if entry.get("message", {}).get("role") == "assistant"]


async def _another_way(folder: Path, file: Path, entry: str) -> None:
    """Go back to an entry and on from there, as a program does that has tildone in it."""
    from tildone.host.providers import open_model  # noqa: PLC0415  it takes seconds to load

    cwd = str(folder / "project")
    settings = Settings(
        parse_address(str(folder / "plans.db")), "", cwd, session_dir=os.path.dirname(file), countdown=600
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
