"""The base class of all dialect extensions, which runs any dialect in a host from its record alone.

It registers the tools, restores the plan when a conversation is opened or another branch of it is chosen, adds the plan
to the model's context at the start of a turn, and continues an agent that stops with open tasks. A dialect without a
module of its own in this package uses the skeleton unchanged; the others override single methods.

The conversation and the store may disagree about the plan: while a conversation is closed, people and other programs
may change its plan in the store. Which of the two is used depends on whether the plan is shared.

A conversation's own plan, in the session with its id, follows the conversation: it is restored from the results in it,
unless the store's history contains the last one of them, so that the store is ahead. A shared plan stays as it is,
because restoring an older one would silently undo the work of others. There is one exception: when the person forks
the conversation or chooses another branch of it, and the newest change of the plan was made in this conversation, the
plan is moved back to that point as well.

Others may change a shared plan in the middle of a turn. The model is told so before its next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from tildone.app.check_commands import Interrupted
from tildone.app.check_runner import CheckRunner
from tildone.app.settings import Settings
from tildone.app.trust import Consent
from tildone.base import TYPE_CHECKING, StoreError, replace
from tildone.base.keys import EXPAND
from tildone.base.schema import SchemaProblem
from tildone.log.session import Session
from tildone.plan.changing import progress_of
from tildone.plan.dialects import Dialect, Reply, Tool, changed_in_details, plan_in_details, with_plan
from tildone.plan.dialects.prompts import change_reminder
from tildone.plan.events import Actor, Bound, Event, Ledger, PlanChanged, StopFingerprint
from tildone.plan.formats.markdown import bounded_checklist
from tildone.plan.gate import MS_PER_HOUR, GiveUp, GoOn, Rest, Turn
from tildone.plan.guard import PLAN
from tildone.plan.history.changes import change_sentences, changes, told_changes
from tildone.plan.model import Check, Plan, Proof, Rules, Status, numbered, same_content
from tildone.plan.ops import Write
from tildone.plan.text import safe as widget
from tildone.plan.text.amounts import describe_bound
from tildone.plan.text.lists import task_line
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import MAX_FRAME, MAX_START, NO_TODOS, printable, printable_lines, safe_text
from tildone.plan.text.styles import Role
from tildone.run import extension
from tildone.run.events import TurnEnd, TurnStart
from tildone.run.host import ConversationView, ExtensionAPI, ExtensionContext
from tildone.run.kit.components import Component, Item, KeyHint, RenderOptions, Text, ToolFooter, stacked
from tildone.run.kit.defaults import default_call
from tildone.run.kit.definition import Aborted, AbortSignal, TextContent, ToolDefinition, ToolResult
from tildone.run.messages import CustomMessage, DeveloperMessage, StopReason, TextBlock
from tildone.run.tools.permissions import ask_person, unless_aborted
from tildone.run.turn_loop import Delivery
from tildone.stores.agents import AgentId

if TYPE_CHECKING:
    from tildone.plan.changing import Prover


CONSENTS = {extension.PermissionAnswer.ONCE: Consent.ONCE, extension.PermissionAnswer.ALWAYS: Consent.ALWAYS}


class ChecksNeeded(BaseException):
    """Checks have to be run first. It is no error, so that nobody who reports errors catches it."""

    def __init__(self, checks: Mapping[int, Check]) -> None:
        super().__init__("checks have to be run first")
        self.checks = checks


class KnownProofs:
    """A prover that runs no checks: it knows their proofs, or asks for them."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.reasons: list[str] = []
        """Why the person did not let checks run, as far as they said."""
        self._known: dict[Check, Proof] = {}

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        """Return the proofs of checks."""
        missing = {number: check for number, check in checks.items() if check not in self._known}
        if missing:
            raise ChecksNeeded(missing)
        return {number: self._known[check] for number, check in checks.items()}

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return self.prover.stale(proofs)

    def is_allowed(self, check: Check) -> bool:
        return self.prover.is_allowed(check)

    async def ask(self, checks: Mapping[int, Check], ctx: ExtensionContext, signal: AbortSignal) -> None:
        """Ask the person, if there is one, about the checks that nobody has approved, one after the other."""
        if isinstance(self.prover, CheckRunner) and self.prover.nobody():
            return
        consents: dict[Check, Consent] = {}
        for number, check in checks.items():
            if check in consents or self.is_allowed(check):
                continue
            reply = await unless_aborted(ask_person(ctx, approval_request(number, check)), signal)
            consents[check] = CONSENTS.get(reply.answer, Consent.NO) if reply is not None else Consent.NO
            self.reasons += [reply.reason] if reply is not None and reply.reason else []
        if consents and isinstance(self.prover, CheckRunner):
            self.prover.ask = lambda _number, check: consents.get(check, Consent.NO)

    async def run(self, checks: Mapping[int, Check], signal: AbortSignal) -> None:
        """Run checks in a thread."""
        interrupt: Callable[[], None] = getattr(self.prover, "interrupt", lambda: None)
        unsubscribe = signal.on_abort(interrupt)
        try:
            proofs = await asyncio.to_thread(self.prover.prove, checks)
        except Interrupted as error:
            raise Aborted(signal.reason or str(error)) from error
        finally:
            unsubscribe()
            # The thread goes on if only this task was cancelled.
            interrupt()
        self._known.update((checks[number], proof) for number, proof in proofs.items())


async def with_checks(
    session: Session, call: Callable[[Session], Reply], ctx: ExtensionContext, signal: AbortSignal
) -> Reply:
    """Return the reply to a call on a session whose checks are run in a thread, while the host goes on.

    A session runs the checks that a call needs before it changes anything. Here its prover runs none: it knows the
    proofs, or raises `ChecksNeeded`. The call is tried, the person is asked about checks that were only proposed, the
    missing ones are awaited, and the call is tried again. An abort ends the process group of the check that runs, and
    the call. Raises Aborted if the operation was aborted while a check ran; nothing has changed.
    """
    prover = session.parts.prover
    if prover is None:
        return call(session)
    known = KnownProofs(prover())
    own = session.using(parts=replace(session.parts, prover=lambda: known))
    while True:
        try:
            reply = call(own)
            lines = [f"The person did not allow it. Their reason: {safe_text(reason)}" for reason in known.reasons]
            return replace(reply, text="\n".join([reply.text, *lines])) if lines else reply
        except ChecksNeeded as needed:
            missing = needed.checks
        await known.ask(missing, ctx, signal)
        await known.run(missing, signal)


def approval_request(number: int, check: Check) -> extension.PermissionRequest:
    """Return the question whether a check that was only proposed may run. Always means every time, in every agent."""
    whose = "the plan" if number == PLAN else f"task {number}"
    folder = f" in the folder {printable(check.folder)}" if check.folder else ""
    return extension.PermissionRequest(
        f"Run this command{folder} as the check of {whose}?",
        tuple(printable_lines(check_text(check))),
        always="exactly this check",
        scope="in this project",
    )


OpenSession = Callable[[str], Session]

NO_RULES = Rules()
"""The rules for plans that are restored or imported: no limits, and no task is started automatically."""

MAX_RECENT_EVENTS = 200
"""How many events are searched for a former plan."""

RUN_ENTRY, SESSION, OWN_LIST = "tildone_run", "session", "own_list"
"""The entry with the options of a run, and two of them: the session of its plan, or that it is the conversation's."""

FORK = "fork"
"""The reason with which a forked conversation is opened."""

NOT_RESTORED = "The plan stays as it is: it was changed outside of this conversation since."


def store_is_ahead(session: Session, last_plan: Plan | None) -> bool:
    """Return whether the store's history contains the last plan of the conversation, and may continue after it."""
    return last_plan is None or any(same_content(_plan(event), last_plan) for event in _recent_changes(session))


def records_of_plan(conversation: ConversationView) -> Sequence[Mapping[str, Any]]:
    """Return the entries since the conversation took up its plan: earlier results are about another one."""
    records = [entry.record for entry in conversation.branch()]
    since, plan = 0, None
    for place, record in enumerate(records):
        if record.get("customType") == RUN_ENTRY and isinstance(data := record.get("data"), dict):
            taken_up = data.get(SESSION), data.get(OWN_LIST)
            since = place if plan not in (None, taken_up) else since
            plan = taken_up
    return records[since:]


def is_shared(session: Session, conversation: ConversationView) -> bool:
    """Return whether the plan belongs to more than this conversation."""
    return session.name != conversation.id


def plan_to_restore(session: Session, recovered: Plan | None, conversations: set[str]) -> Plan | None:
    """Return the shared plan as it was at a point of the conversation; None if it has to stay as it is.

    `recovered` is the plan in the results up to that point, and `conversations` are the ids of the conversation and of
    the one that it was forked from. Events that match the recovered plan restore what results do not contain: phases,
    notes and numbers.
    """
    authors = _authors(conversations)
    changes = _recent_changes(session)
    newest = next(changes, None)
    if newest is None or newest.author.agent not in authors:
        return recovered if newest is None else None
    if recovered is None:
        before = (event for event in changes if event.author.agent not in authors)
        return next(map(_plan, before), Plan())
    matching = (event for event in (newest, *changes) if same_tasks(_plan(event), recovered))
    return next(map(_plan, matching), recovered)


def has_changed(session: Session, conversations: set[str]) -> bool:
    authors = _authors(conversations)
    return any(event.author.agent in authors for event in _recent_changes(session))


def _authors(conversations: set[str]) -> set[str]:
    return {str(AgentId("tildone", conversation)) for conversation in conversations}


def _recent_changes(session: Session) -> Iterator[Event]:
    recent = islice(session.store.history(session.name), MAX_RECENT_EVENTS)
    return (event for event in recent if isinstance(event.fact, PlanChanged))


def _plan(event: Event) -> Plan:
    return event.fact.plan if isinstance(event.fact, PlanChanged) else Plan()


def same_tasks(one: Plan, other: Plan) -> bool:
    return _content(one) == _content(other)


def _content(plan: Plan) -> list[tuple[str, Status]]:
    """Return the part of a plan that the results of every dialect contain."""
    return [(task.text, task.status.basic) for task in plan.tasks]


GO_ON = "To go on, send a message"
OF_PLAN = {Bound.COST: "To go on, raise max_cost", Bound.TOKENS: "To go on, raise max_tokens"}
"""What the agents of a plan have used does not begin again when a person speaks."""


def request_bounds(open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    return lambda api: RequestBounds(api, open_session).register()


class RequestBounds:
    """Bounds on the requests of one host: a model that only calls tools never stops, so the gate never sees it.

    The requests of subagents count, too, except in the bound on requests without progress: their work is not in the
    plan. Requests are counted since a person last spoke, and since the last progress of the plan. The time since a
    person last spoke is bounded as well, and so is what the plan and the task in progress use, as far as there are
    budgets. At a bound the turn is aborted before the next request, the session records which one it was, and the
    person is told how to go on.
    """

    def __init__(self, api: ExtensionAPI, open_session: OpenSession) -> None:
        self.api = api
        self._open_session = open_session
        self._session: Session | None = None
        self._ledger = Ledger()
        self._plan = Plan()
        self._total = self._idle = 0
        self._began = 0

    def register(self) -> None:
        self.api.on(extension.ConversationStart, self.open)
        self.api.on(extension.PersonSpoke, self.restart)
        self.api.on(TurnStart, self.count)
        self.api.on(extension.SubagentTurn, self.count_of_subagent)

    def open(self, _event: extension.ConversationStart, ctx: ExtensionContext) -> None:
        self._session, self._began = self._open_session(ctx.conversation.id), ctx.now()

    def restart(self, _event: extension.PersonSpoke, ctx: ExtensionContext) -> None:
        """Count from 0: a person has spoken. In the shell of an agent, no person has, and its counts stay."""
        self._ledger, self._total, self._idle, self._began = Ledger(), 0, 0, ctx.now()
        if self._session is not None:
            # The turn reports a store that cannot be read.
            with suppress(StoreError):
                self._plan = self._session.plan
                if not self._session.author_of(Actor.USER).agent:
                    self._session.reset_counts()

    def count(self, _event: TurnStart, ctx: ExtensionContext) -> None:
        if self._session is None:
            return
        with suppress(StoreError):
            plan = self._session.plan
            if plan != self._plan:
                is_progress, self._ledger = progress_of(self._plan, plan, self._ledger)
                self._plan = plan
                self._idle = 0 if is_progress else self._idle
        self._total, self._idle = self._total + 1, self._idle + 1
        self._check_bounds(self._session, ctx)

    def _check_bounds(self, session: Session, ctx: ExtensionContext) -> None:
        patience = session.patience
        if self._total > patience.requests:
            self._end(session, Bound.REQUESTS, patience.requests, ctx)
        elif self._idle > patience.idle_requests:
            self._end(session, Bound.IDLE_REQUESTS, patience.idle_requests, ctx)
        elif 0 < patience.hours * MS_PER_HOUR <= ctx.now() - self._began:
            self._end(session, Bound.HOURS, patience.hours, ctx)
        else:
            with suppress(StoreError):
                reached = session.budget_reached()
                if reached is not None:
                    self._end(session, reached.bound, reached.limit, ctx)

    def count_of_subagent(self, _event: extension.SubagentTurn, ctx: ExtensionContext) -> None:
        """Count a request of a subagent, and abort the agent's turn, and its subagents with it, at a bound."""
        if self._session is not None:
            self._total += 1
            self._check_bounds(self._session, ctx)

    def _end(self, session: Session, bound: Bound, limit: float, ctx: ExtensionContext) -> None:
        ctx.abort()
        with suppress(StoreError):
            session.let_go(bound, limit)
        go_on = OF_PLAN.get(bound, GO_ON)
        ctx.ui.notify(f"Stopped: {describe_bound(bound, limit)}. {go_on}", "warning")


Execute = Callable[[Session, Tool, dict[str, Any], ExtensionContext], Reply]
Refuse = Callable[[Tool, Sequence[SchemaProblem], object], Reply]

REFUSALS = "refusals"
"""The key in the details of a result for what the call did not do. It marks the call as failed, see `ToolResult`."""


def definition(
    tool: Tool, run: Execute, session: Callable[[], Session], refuse: Refuse | None = None, **options: Any
) -> ToolDefinition:
    """Return the definition of a tool that is executed by `run`, one call at a time.

    `session` returns the session that it works on, whose checks are awaited. `refuse` replies to invalid arguments in
    the dialect's wording. `options` are further fields of the definition.
    """

    async def execute(
        _call_id: str, params: dict[str, Any], signal: Any, _update: Any, ctx: ExtensionContext
    ) -> ToolResult:
        return _result(await with_checks(session(), lambda own: run(own, tool, params, ctx), ctx, signal))

    return ToolDefinition(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        parameters=tool.parameters,
        execute=execute,
        demands=tool.demands,
        interpret=tool.interpret,
        refuse=None if refuse is None else lambda problems, given: _result(refuse(tool, problems, given)),
        prompt_snippet=tool.snippet,
        prompt_guidelines=tool.guidelines,
        exclusive=True,
        tells=True,
        **{"strict": tool.strict, **options},
    )


def with_refusals(plan: Component, result: ToolResult) -> Component:
    """Return the plan after a call, and below it what the call did not do."""
    refusals = result.details.get(REFUSALS) if isinstance(result.details, dict) else None
    if not isinstance(refusals, list):
        return plan
    return stacked(plan, *(Text(str(refusal), Role.ERROR) for refusal in refusals))


def _result(reply: Reply) -> ToolResult:
    details = {**reply.details, REFUSALS: [*reply.refusals]} if reply.refusals else reply.details
    outcome = reply.outcome
    told = told_changes(changes(outcome.before, outcome.after)) if outcome is not None else ()
    return ToolResult((TextContent(reply.text),), details, is_error=reply.is_error, told=tuple(told))


STATUS = "todos"
PLAN_CONTEXT = "tildone-context"
CHANGES = "tildone-changes"
LIMIT_NOTICE = "tildone-limit"

MAX_TASKS_SHOWN = 8
"""How many tasks are shown after every call. Of a longer plan, a collapsed result shows those that have changed."""


def skeleton(dialect: Dialect, open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    return lambda api: DialectExtension(api, dialect, open_session).register()


class DialectExtension:
    """The plan of one host, in one dialect."""

    def __init__(self, api: ExtensionAPI, dialect: Dialect, open_session: OpenSession) -> None:
        self.api = api
        self.dialect = dialect
        self._open_session = open_session
        self._session: Session | None = None
        self._conversation: str | None = None
        self._shown: Plan | None = None
        self._drawn = Plan()
        self._unreported: list[str] = []

    def register(self) -> None:
        self.follow_conversation()
        self.register_tools()
        self.register_hooks()

    def follow_conversation(self) -> None:
        self.api.on(extension.ConversationStart, self.conversation_opened)
        self.api.on(extension.BranchChange, self.branch_chosen)
        self.api.on(TurnEnd, self.report_changes)

    def register_tools(self) -> None:
        for tool in self.dialect.tools:
            self.api.register_tool(self.definition(tool))

    def register_hooks(self) -> None:
        self.api.on(extension.BeforeAgentStart, self.add_context)
        self.api.on(extension.BeforeSettle, self.nudge)

    def definition(self, tool: Tool) -> ToolDefinition:
        return self.define(
            tool,
            any_case_name=True,
            render_call=lambda args: default_call(self.definition(tool), args, name_all=True),
            render_result=render_plan,
        )

    def define(self, tool: Tool, **options: Any) -> ToolDefinition:
        return definition(tool, self.call, lambda: self.session, self.dialect.refuse, **options)

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    def call(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call, and note what others changed before it: the reply shows the plan after both."""
        shared = is_shared(self.session, ctx.conversation)
        with suppress(StoreError):  # `execute` reports it
            self._unreported += self._changes_by_others() if shared else []
        reply = self.execute(session, tool, params, ctx)
        with suppress(StoreError):
            self._shown = self.session.plan if shared else None
        return reply

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        reply = session.execute(tool, params)
        self.show_status(ctx)
        if not self.dialect.needs_snapshots:
            return reply
        before, plan = self._drawn, self.session.plan
        self._drawn = before if reply.is_error else plan
        return replace(reply, details=with_plan(reply.details, plan, before))

    def conversation_opened(self, event: extension.ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, unless the store's plan is newer or is shared."""
        session = self.open(ctx)
        last_plan = self.dialect.recover(records_of_plan(ctx.conversation))
        if is_shared(session, ctx.conversation):
            self.follow_point(last_plan, ctx, chosen=event.reason == FORK)
        elif last_plan is not None and not store_is_ahead(session, last_plan):
            self.restore(last_plan)
        self._conversation = ctx.conversation.id
        self.show_status(ctx)

    def branch_chosen(self, _event: extension.BranchChange, ctx: ExtensionContext) -> None:
        """Restore the plan at this point of the conversation; later changes on other branches do not apply."""
        session = self.open(ctx)
        plan = self.dialect.recover(records_of_plan(ctx.conversation))
        if is_shared(session, ctx.conversation):
            self.follow_point(plan, ctx, chosen=True)
        else:
            self.restore(plan or Plan())
        self.show_status(ctx)

    def follow_point(self, recovered: Plan | None, ctx: ExtensionContext, *, chosen: bool) -> None:
        """Move a shared plan to a point of the conversation that the person has chosen, if no one else changed it.

        Without a choice, only a plan that the store does not have is restored.
        """
        if not chosen and (recovered is None or self.session.state.head is not None):
            return
        view = ctx.conversation
        conversations = {name for name in (view.id, view.parent_id, self._conversation) if name}
        plan = plan_to_restore(self.session, recovered, conversations)
        if plan is not None:
            self.restore(plan)
        elif has_changed(self.session, conversations) and not same_tasks(recovered or Plan(), self.session.plan):
            ctx.ui.notify(NOT_RESTORED, "warning")

    def open(self, ctx: ExtensionContext) -> Session:
        self._drawn = Plan()
        self._session = self._open_session(ctx.conversation.id)
        return self._session

    def restore(self, plan: Plan) -> None:
        """Replace the plan with this one. Limits apply to new writes only, so a restored plan is not checked."""
        self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)

    def report_changes(self, event: TurnEnd, ctx: ExtensionContext) -> None:
        """Tell the model, before its next request, what others changed in a shared plan since it last saw it."""
        if not event.tool_results or not is_shared(self.session, ctx.conversation):
            return
        found, self._unreported = [*self._unreported, *self._changes_by_others()], []
        if not found:
            return
        self.changes_reported()
        text = change_reminder(found, self.current_list())
        self.api.send_message(CustomMessage(CHANGES, text), deliver_as=Delivery.STEER)

    def changes_reported(self) -> None:
        """Record that the model knows the plan as it is now."""
        self.session.set_seen_head(self.session.state.head)

    def current_list(self) -> str:
        return self.session.context() or bounded_checklist(self.session.plan, MAX_START - MAX_FRAME)

    def _changes_by_others(self) -> list[str]:
        """Return what changed since the model last saw the plan, as sentences. From now on it counts as seen."""
        known, self._shown = self._shown, self.session.plan
        if known is None or known == self._shown:
            return []
        return change_sentences(changes(known, self._shown), numbers=self.dialect.numbered)

    def add_context(
        self, _event: extension.BeforeAgentStart, _ctx: ExtensionContext
    ) -> extension.AgentStartReply | None:
        """Add the plan to the model's context, hidden from the person."""
        self._shown = self.session.plan
        content = self.session.context()
        if content is None:
            return None
        self.session.set_seen_head(self.session.state.head)
        return extension.AgentStartReply(CustomMessage(PLAN_CONTEXT, content))

    def nudge(self, event: extension.BeforeSettle, _ctx: ExtensionContext) -> extension.KeepGoing | None:
        """Continue an agent that stops with open tasks, or tell the person why it is not continued."""
        stop = event.stop_reason
        files = StopFingerprint(self.session.parts.files())
        turn = Turn(aborted=stop == StopReason.ABORTED, errored=stop == StopReason.ERROR, fingerprint=files)
        verdict = self.session.turn_ended(turn)
        match verdict.decision:
            case GoOn():
                return extension.KeepGoing([DeveloperMessage((TextBlock(verdict.prompt or ""),), attribution="agent")])
            case GiveUp(bound, limit):
                self.api.send_message(CustomMessage(LIMIT_NOTICE, limit_notice(bound, limit), display=True))
                return None
            case Rest():  # exhaustive
                return None

    def show_status(self, ctx: ExtensionContext) -> None:
        if ctx.has_ui:
            ctx.ui.set_status(STATUS, widget.status_text(self.session.plan))


def render_plan(result: ToolResult, options: RenderOptions) -> Component | None:
    """Render the tasks of the plan after a call; None selects the default renderer.

    If there are many, a collapsed result shows those that have changed since the last one, and how many have not.
    """
    plan = None if options.is_error else plan_in_details(result.details)
    if plan is None:
        return None
    tasks = numbered(plan).tasks
    changed = [task for task in tasks if task.number in changed_in_details(result.details)]
    is_cut = not options.expanded and 0 < len(changed) < len(tasks) > MAX_TASKS_SHOWN
    listed = [Text(task_line(task)) for task in (changed if is_cut else tasks)] or [Text(NO_TODOS, Role.DIM)]
    rest = Item("", f"{len(tasks) - len(changed)} unchanged"), Item("", KeyHint(EXPAND, "to expand"))
    return with_refusals(stacked(*listed, ToolFooter(rest) if is_cut else None), result)


def limit_notice(bound: Bound, limit: float) -> str:
    why = f"{limit} iterations" if bound is Bound.NUDGES else describe_bound(bound, limit)
    return f"Auto-continue limit reached ({why}). Remaining todos were not completed. Take over manually."


def from_settings(dialect: Dialect, open_session: OpenSession, _settings: Settings) -> Callable[[ExtensionAPI], None]:
    return skeleton(dialect, open_session)


EXTENSION = from_settings
