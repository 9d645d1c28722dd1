"""til-done in a host: the indexed tools, a status bar, hidden context, and a countdown before each nudge.

Custom types and status keys are those of the original, so that its conversations and screens are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from tildone.config import Settings
from tildone.core.plan import Plan
from tildone.core.query import open_tasks
from tildone.dialects.base import Dialect, Reply, Tool
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.dialects.indexed.entries import STATUSES
from tildone.extensions.restoring import OpenSession
from tildone.extensions.skeleton import DialectExtension, limit_notice
from tildone.extensions.tools import definition
from tildone.host.events import AgentEnd
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import (
    AgentStartReply,
    BeforeAgentStart,
    BranchChange,
    ConversationStart,
    Interruption,
)
from tildone.host.messages import CustomMessage, StopReason, last_answer, text_of
from tildone.host.runtime import Delivery
from tildone.kit.components import RenderOptions, Text
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.log.events import Bound, Directive
from tildone.loop.countdown import Tick, countdown
from tildone.loop.decision import GiveUp, GoOn, Rest, Turn
from tildone.views import indexed_tools, widget
from tildone.views.plain_list import NO_TODOS

CONTEXT, COMPLETE, COUNTING = "til-done-context", "til-done-complete", "til-done-countdown"
SUMMARY, ACTIVE = "til-done", "til-done-active"
CALLS: dict[str, Callable[[Any], Any]] = {
    "write_todos": indexed_tools.write_call,
    "list_todos": lambda _: indexed_tools.list_call(),
    "edit_todos": indexed_tools.edit_call,
}


def indexed(open_session: OpenSession, ticks: Sequence[Tick] = countdown()) -> Callable[[ExtensionAPI], None]:
    """The extension; `open_session` opens the plan's session for a conversation's id."""
    return lambda api: IndexedExtension(api, open_session, ticks).register()


class IndexedExtension(DialectExtension):
    """One host's til-done."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession, ticks: Sequence[Tick]) -> None:
        super().__init__(api, INDEXED, open_session)
        self._ticks = ticks
        self._timers: list[Callable[[], None]] = []

    def register_hooks(self) -> None:
        """Register what happens around a turn, and how custom messages are drawn."""
        self.api.on(BeforeAgentStart, self.add_context)
        self.api.on(AgentEnd, self.turn_ended)
        self.api.on(Interruption, self.cancel)
        for custom_type in (CONTEXT, COMPLETE, COUNTING):
            self.api.register_message_renderer(custom_type, _message_renderer(custom_type))

    def definition(self, tool: Tool) -> ToolDefinition:
        """A tool with its renderers."""
        return definition(tool, self.execute, render_call=_call_renderer(tool.name), render_result=self.render)

    def execute(self, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Carry out a model's call; the status bar follows changes only."""
        reply = self.session.execute(tool, params)
        if "error" not in reply.details and not tool.hints.read_only:
            self.show_status(ctx)
        return reply

    def render(self, result: ToolResult, _options: RenderOptions) -> Text:
        """The list as it is after a call, or why there is none.

        The details of `list_todos` hold no list, so that they never count as state: it is drawn from its text.
        """
        if _is_listing(result.details) and result.text != NO_TODOS:
            return Text(result.text)
        return Text(indexed_tools.result(result.text, result.details, STATUSES))

    def conversation_opened(self, event: ConversationStart, ctx: ExtensionContext) -> None:
        """Cancel a countdown of the conversation before, restore the plan of this one, and count nudges from 0."""
        self.cancel(event, ctx)
        super().conversation_opened(event, ctx)
        self.session.reset_counts()

    def branch_chosen(self, event: BranchChange, ctx: ExtensionContext) -> None:
        """Cancel a countdown of the branch before, restore the plan of this one, and count nudges from 0."""
        self.cancel(event, ctx)
        super().branch_chosen(event, ctx)
        self.session.reset_counts()

    def add_context(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """Put the plan before the model, hidden from the person."""
        content = self.session.context()
        return AgentStartReply(CustomMessage(CONTEXT, content)) if content else None

    def turn_ended(self, event: AgentEnd, ctx: ExtensionContext) -> None:
        """Count down to the next turn of an agent that stops with work left. The end of a turn cancels a countdown."""
        if event.will_retry:
            return
        last = last_answer(event.messages)
        stop = last.stop_reason if last else None
        turn = Turn(aborted=stop == StopReason.ABORTED, errored=stop == StopReason.ERROR)
        verdict = self.session.turn_ended(turn)
        was_counting = self._stop_counting()
        match verdict.decision:
            case GoOn():
                self._count_down(ctx)
                return
            case GiveUp(bound, limit):
                self._announce(bound, limit)
            case Rest():
                pass
        if was_counting and ctx.has_ui:
            ctx.ui.set_widget(COUNTING, None)

    def cancel(self, _event: Interruption | ConversationStart | BranchChange, ctx: ExtensionContext) -> None:
        """Cancel the countdown: the person has taken over, or another plan has come."""
        self._stop_counting()
        if ctx.has_ui:
            ctx.ui.set_widget(COUNTING, None)

    def _announce(self, bound: Bound, limit: int) -> None:
        self.api.send_message(CustomMessage(COMPLETE, limit_notice(bound, limit), display=True))

    def _count_down(self, ctx: ExtensionContext) -> None:
        """Tick by tick where somebody watches, and in one wait where nobody does."""
        go_on = partial(self._go_on, _texts(self.session.plan))
        if not ctx.has_ui:
            self._timers.append(ctx.after(self._ticks[-1].at, go_on, holds=True))
            return
        for now in self._ticks:
            tick = partial(self._tick, ctx, now, go_on)
            if now.at or now.fires:
                self._timers.append(ctx.after(now.at, tick, holds=now.fires))
            else:
                tick()

    def _tick(self, ctx: ExtensionContext, now: Tick, go_on: Callable[[], None]) -> None:
        try:
            if not now.fires:
                ctx.ui.set_widget(COUNTING, [widget.countdown_text(now.left)], "aboveEditor")
            elif ctx.has_ui:
                ctx.ui.set_widget(COUNTING, None)
        except Exception:  # noqa: BLE001  whoever watches is typing: that interrupts
            self._stop_counting()
            ctx.ui.set_widget(COUNTING, None)
            return
        if now.fires:
            go_on()

    def _go_on(self, texts: Sequence[str]) -> None:
        """Send the prompt for the plan as it is now; send none if nothing is left or another plan has come."""
        self._stop_counting()
        state = self.session.state
        if not open_tasks(state.plan) or not set(_texts(state.plan)) & set(texts):
            return
        if state.directive is not Directive.GO:
            return
        prompt = INDEXED.carry_on(state.plan)
        try:
            self.api.send_user_message(prompt)
        except Exception:  # noqa: BLE001  a turn has begun meanwhile: it is said when that ends, or not at all
            self._say_later(prompt)

    def _say_later(self, prompt: str) -> None:
        with suppress(Exception):  # nobody listens: there is nothing left to try
            self.api.send_user_message(prompt, deliver_as=Delivery.FOLLOW_UP)

    def _stop_counting(self) -> bool:
        """Cancel the countdown; whether one was running."""
        was_counting = bool(self._timers)
        while self._timers:
            self._timers.pop()()
        return was_counting

    def show_status(self, ctx: ExtensionContext) -> None:
        """Show the person how far the plan is, and the task in progress."""
        if ctx.has_ui:
            ctx.ui.set_status(SUMMARY, widget.status_text(self.session.plan))
            ctx.ui.set_status(ACTIVE, widget.active_tasks(self.session.plan))


def _call_renderer(name: str) -> Callable[[Any], Text]:
    return lambda args: Text(CALLS[name](args))


def _message_renderer(kind: str) -> Callable[[CustomMessage], Text]:
    return lambda message: Text(indexed_tools.message(kind, text_of(message)))


def _is_listing(details: object) -> bool:
    """Whether these are the details of `list_todos`, which leave out the list."""
    return isinstance(details, dict) and details.get("action") == "list" and not details.get("todos")


def _texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]


def from_settings(_dialect: Dialect, open_session: OpenSession, settings: Settings) -> Callable[[ExtensionAPI], None]:
    """The extension as `tildone run` loads it."""
    return indexed(open_session, countdown(settings.countdown))


EXTENSION = from_settings
