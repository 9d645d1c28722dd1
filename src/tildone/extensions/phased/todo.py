"""The `/todo` command in a host: carries out what a person types."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from tildone.commands import command, edit_reminder
from tildone.commands.answer import (
    Answer,
    CopyText,
    Level,
    Message,
    OpenEditor,
    ReadFile,
    Trouble,
    WriteFile,
    refused,
)
from tildone.commands.verbs import after_request, request_failed
from tildone.core.plan import Plan
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import EDIT, phases_out
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.formats.markdown.reader import read
from tildone.host.content import TextBlock
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.messages import DeveloperMessage
from tildone.value import replace
from tildone.views.faults import describe_fault

Copy = Callable[[str], bool]

NAME = "todo"
DESCRIPTION = "Show or change the plan; /todo help tells how"
KINDS = {Level.STATUS: "info", Level.WARNING: "warning", Level.ERROR: "error"}

EDITING = "The plan, as Markdown"
CHANGED = "The plan changed while you edited it: what you save now takes its place"


class TodoCommand:
    """One host's `/todo`. `changed` is called when the person has changed the plan."""

    def __init__(
        self, api: ExtensionAPI, notebook: ConversationPlan, copy: Copy, changed: Callable[[ExtensionContext], None]
    ) -> None:
        self._api = api
        self._notebook = notebook
        self._copy = copy
        self._changed = changed

    async def run(self, typed: str, ctx: ExtensionContext) -> None:
        """Carry out what was typed after `/todo`, and show the outcome."""
        base = self._latest(ctx)
        answer = command(typed, base)
        match answer.request:
            case OpenEditor() as request:
                base, answer = await self._edited(request, base, ctx)
            case CopyText(text) as request:
                done = await asyncio.to_thread(self._copy, text)
                answer = (
                    after_request(request) if done else request_failed(request, "no clipboard can be reached from here")
                )
            case WriteFile() as request:
                answer = _written(request, ctx.cwd)
            case ReadFile() as request:
                answer = _read(request, ctx.cwd)
            case None:  # exhaustive
                pass
        for message in self._committed(base, answer, ctx):
            ctx.ui.notify(message.text, KINDS[message.level])

    async def _edited(self, request: OpenEditor, base: Plan, ctx: ExtensionContext) -> tuple[Plan, Answer]:
        """The edited plan as an answer, and the plan that it replaces.

        The editor opens again if the text cannot be parsed, or if the plan was changed meanwhile, so that no work is
        lost.
        """
        title, draft = EDITING, request.text
        while True:
            typed = await ctx.ui.editor(title, draft)
            if typed is None:
                return base, request_failed(request, "the editor was closed without saving, or there is none")
            draft, answer = typed, after_request(request, typed.removesuffix("\n"))
            if answer.trouble is Trouble.UNREADABLE:
                if not await ctx.ui.confirm("Edit it again?", answer.messages[0].text):
                    return base, answer
            elif base == (now := self._latest(ctx)):
                return base, answer
            else:
                title, base = CHANGED, now

    def _committed(self, base: Plan, answer: Answer, ctx: ExtensionContext) -> tuple[Message, ...]:
        """Apply the changes to the plan, record them in the conversation, tell the model; the messages to show."""
        if answer.steps is None:
            return answer.messages
        outcome = self._notebook.edit(base, answer.steps, replace(answer.rules(PHASED.rules), atomic=True))
        if outcome.faults:
            return refused(Trouble.UNMATCHED, "; ".join(map(describe_fault, outcome.faults))).messages
        self._api.append_entry(EDIT, {"phases": phases_out(outcome.after)})
        content = (TextBlock(edit_reminder(outcome.after)),)
        self._api.send_message(DeveloperMessage(content, attribution="user"))
        self._changed(ctx)
        return answer.messages

    def _latest(self, ctx: ExtensionContext) -> Plan:
        return self._notebook.latest(ctx.conversation.branch_records())


def _written(request: WriteFile, folder: str) -> Answer:
    path = os.path.join(folder, request.path)
    try:
        if not _is_ours(path):
            return request_failed(request, "it holds more than a checklist; name another file")
        with open(path, "wb") as file:
            file.write(request.text.encode())
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    return after_request(request)


def _is_ours(path: str) -> bool:
    """Whether the file can be overwritten without loss: it is missing, or holds nothing but a checklist."""
    try:
        with open(path, "rb") as file:
            return not read(file.read().decode("utf-8-sig")).problems
    except FileNotFoundError:
        return True
    except UnicodeDecodeError:
        return False


def _read(request: ReadFile, folder: str) -> Answer:
    try:
        with open(os.path.join(folder, request.path), "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    except UnicodeDecodeError:
        return request_failed(request, "it is not UTF-8 text")
    return after_request(request, text)
