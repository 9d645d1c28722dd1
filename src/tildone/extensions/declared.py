"""The declared list in a host: `TodoWrite`, its recap at the end of every request, and a log of what was finished."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tildone.agents.completion_log import CompletionLog
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.dialects.base import Reply, Tool
from tildone.dialects.declared import DIALECT as DECLARED
from tildone.dialects.declared.envelope import broken
from tildone.extensions.memory import AS_IT_IS, OpenSession, overtaken
from tildone.extensions.tools import definition
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import BranchChange, ContextReply, ContextRequest, ConversationStart
from tildone.host.messages import CustomMessage
from tildone.kit.components import Component, RenderOptions, Text
from tildone.kit.definition import ToolResult
from tildone.kit.theme import Role
from tildone.log.events import Actor
from tildone.session import Session
from tildone.views import widget
from tildone.views.sanitize import escape_reminder_tags

(TODO_WRITE,) = DECLARED.tools

STATUS = "todos"
RECAP = "todo-recap"


def declared(open_session: OpenSession, root: str) -> Callable[[ExtensionAPI], None]:
    """The extension, keeping its plan in the session that `open_session` gives for a conversation's id.

    Lists that were finished are logged in the project at `root`, unless the session has a log of its own.
    """
    return lambda api: Declared(api, open_session, root).plug_in()


class Declared:
    """One host's declared list."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession, root: str) -> None:
        self.api = api
        self._open_session = open_session
        self._root = root
        self._session: Session | None = None

    def plug_in(self) -> None:
        """Tool and handlers."""
        self.api.register_tool(
            definition(TODO_WRITE, self.carry_out, DECLARED.refuse, render_result=shown, any_case_name=True)
        )
        self.api.on(ConversationStart, self.read_again)
        self.api.on(BranchChange, self.turn_to)
        self.api.on(ContextRequest, self.recap)

    @property
    def session(self) -> Session:
        """The plan's session; the one of this conversation once it has started."""
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    def carry_out(self, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """A model's call. Whatever breaks on the way is told as such, and leaves the list as it was."""
        head: str | None = None
        try:
            head = self.session.state.head
            reply = self.session.execute(tool, params)
        except Exception as error:  # noqa: BLE001  the envelope is the contract, whatever happened
            self._take_back(head)
            return broken(f"{type(error).__name__}: {error}", params)
        self._show_status(ctx)
        return reply

    def read_again(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Another conversation: the list is what that remembers, unless the store has gone on since."""
        self._session = self._open_session(ctx.conversation.id)
        if self._session.completions is None:
            self._session.completions = CompletionLog(self._root, lambda: _stamp(ctx.now()))
        remembered = DECLARED.recover(ctx.conversation.branch_records())
        if remembered is not None and not overtaken(self._session, remembered):
            self._keep(remembered)
        self._show_status(ctx)

    def turn_to(self, _event: BranchChange, ctx: ExtensionContext) -> None:
        """Another branch of the conversation: the list is what was remembered there."""
        self._keep(DECLARED.recover(ctx.conversation.branch_records()) or Plan())
        self._show_status(ctx)

    def recap(self, event: ContextRequest, _ctx: ExtensionContext) -> ContextReply | None:
        """While something is left to do, the last thing the model reads is what: for this request only."""
        said = self.session.context()
        if said is None:
            return None
        content = f"<system-reminder>\nTodos: {escape_reminder_tags(said)}\n</system-reminder>"
        return ContextReply([*event.messages, CustomMessage(RECAP, content)])

    def _keep(self, plan: Plan) -> None:
        if plan != self.session.plan:
            self.session.change((Write(plan.phases),), Actor.IMPORT, AS_IT_IS)

    def _take_back(self, head: str | None) -> None:
        """Undo what a call had written before it broke, if nobody has written anything since."""
        with suppress(Exception):  # a store that cannot be read has taken nothing in
            newest = next(self.session.store.history(self.session.name), None)
            if newest is not None and newest.id != head and newest.parent == head:
                self.session.undo()

    def _show_status(self, ctx: ExtensionContext) -> None:
        if ctx.has_ui:
            ctx.ui.set_status(STATUS, widget.status_text(self.session.plan))


def shown(result: ToolResult, options: RenderOptions) -> Component | None:
    """The part of a result that is meant for people; one without it is shown like any other."""
    text = result.details.get("text")
    if options.is_partial or not isinstance(text, str):
        return None
    return Text(text, Role.ERROR if options.is_error else Role.TOOL_OUTPUT)


def _stamp(at: int) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(at / 1000))
