"""The `/todo` command in a host."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from tildone.commands.answer import (
    Answer,
    CopyText,
    FailureReason,
    Level,
    Message,
    OpenEditor,
    ReadFile,
    WriteFile,
    refusal,
)
from tildone.commands.requests import FILE, after_request, request_failed
from tildone.commands.slash import command
from tildone.core.plan import Plan
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import EDIT, phases_out
from tildone.dialects.phased.words import edit_reminder
from tildone.errors import Refused
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.extensions.restoring import records_of_plan
from tildone.files.boundary import real_path_inside
from tildone.files.private import REPLACED, open_shared
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
NOTIFICATION_KINDS = {Level.STATUS: "info", Level.WARNING: "warning", Level.ERROR: "error"}

EDITOR_TITLE = "The plan, as Markdown"
CONFLICT_TITLE = "The plan changed while you edited it: what you save now takes its place"


class TodoCommand:
    """The `/todo` command of one host. `changed` is called after the person has changed the plan."""

    def __init__(
        self,
        api: ExtensionAPI,
        conversation_plan: ConversationPlan,
        copy: Copy,
        changed: Callable[[ExtensionContext], None],
    ) -> None:
        self._api = api
        self._conversation_plan = conversation_plan
        self.copy = copy
        self._changed = changed

    async def run(self, typed: str, ctx: ExtensionContext) -> None:
        """Execute `/todo` followed by `typed`, and show its messages."""
        base = self._latest(ctx)
        answer = command(typed, base)
        match answer.request:
            case OpenEditor() as request:
                base, answer = await self._edit(request, base, ctx)
            case CopyText(text) as request:
                copied = await asyncio.to_thread(self.copy, text)
                answer = (
                    after_request(request)
                    if copied
                    else request_failed(request, "no clipboard can be reached from here")
                )
            case WriteFile() as request:
                answer = _write_file(request, ctx.cwd)
            case ReadFile() as request:
                answer = _read_file(request, ctx.cwd)
            case None:  # exhaustive
                pass
        for message in self._commit(base, answer, ctx):
            ctx.ui.notify(message.text, NOTIFICATION_KINDS[message.level])

    async def _edit(self, request: OpenEditor, base: Plan, ctx: ExtensionContext) -> tuple[Plan, Answer]:
        """Let the person edit the plan; return the plan that is replaced, and the answer.

        The editor opens again if the text cannot be parsed and the person agrees, or if the plan was changed meanwhile,
        so that no change is lost.
        """
        title, draft = EDITOR_TITLE, request.text
        while True:
            typed = await ctx.ui.editor(title, draft)
            if typed is None:
                return base, request_failed(request, "the editor was closed without saving, or there is none")
            draft, answer = typed, after_request(request, typed.removesuffix("\n"))
            if answer.failure is FailureReason.UNREADABLE:
                if not await ctx.ui.confirm("Edit it again?", answer.messages[0].text):
                    return base, answer
            elif base == (now := self._latest(ctx)):
                return base, answer
            else:
                title, base = CONFLICT_TITLE, now

    def _commit(self, base: Plan, answer: Answer, ctx: ExtensionContext) -> tuple[Message, ...]:
        """Apply the changes to the plan, record them in the conversation and report them to the model.

        Returns the messages to show.
        """
        if answer.steps is None:
            return answer.messages
        outcome = self._conversation_plan.edit(base, answer.steps, replace(answer.rules(PHASED.rules), atomic=True))
        if outcome.faults:
            return refusal(FailureReason.UNMATCHED, "; ".join(map(describe_fault, outcome.faults))).messages
        self._api.append_entry(EDIT, {"phases": phases_out(outcome.after)})
        content = (TextBlock(edit_reminder(outcome.after)),)
        self._api.send_message(DeveloperMessage(content, attribution="user"))
        self._changed(ctx)
        return answer.messages

    def _latest(self, ctx: ExtensionContext) -> Plan:
        return self._conversation_plan.latest(records_of_plan(ctx.conversation))


def _write_file(request: WriteFile, directory: str) -> Answer:
    path = os.path.join(directory, request.path)
    try:
        if request.path == FILE:
            real_path_inside(directory, path)
        if not _is_replaceable(path):
            return request_failed(request, "it holds more than a checklist; name another file")
        with os.fdopen(open_shared(path, REPLACED), "wb") as file:
            file.write(request.text.encode())
    except Refused as error:
        return request_failed(request, str(error))
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    return after_request(request)


def _is_replaceable(path: str) -> bool:
    """Return whether the file can be overwritten without loss: it does not exist, or contains only a checklist."""
    try:
        with open(path, "rb") as file:
            return not read(file.read().decode("utf-8-sig")).problems
    except FileNotFoundError:
        return True
    except UnicodeDecodeError:
        return False


def _read_file(request: ReadFile, directory: str) -> Answer:
    try:
        with open(os.path.join(directory, request.path), "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    except UnicodeDecodeError:
        return request_failed(request, "it is not UTF-8 text")
    return after_request(request, text)
