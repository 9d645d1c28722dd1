"""What a model is told of its plan: the whole plan where its context lacks it, and otherwise what others changed.

Theory of operation. The store records, for each model, the head of the session that it has seen. What lies between that
head and the current one is news, except for what the model did itself. News is told at the next event at which the
coding agent accepts text for its model: after a tool call, with a prompt, or when the agent is told to go on. The
current head is then recorded as seen, so the same news is not told twice. A change that the model makes with a native
tool is news to others only: the head that it leads to is recorded as seen, after the changes that came before it have
been told.

Coding agents run tools in parallel, and thereby hooks. Those of one project that have something to tell wait for each
other (`FolderLock`), so that only the first tells it.
"""

from __future__ import annotations

import os
from itertools import islice

from tildone.agents.hooks.fast_path import accepts_news, repeats_plan, writes_native_list
from tildone.agents.hooks.reply import HookReply, can_reply, can_use_tools, tool_command, with_origins
from tildone.agents.integrations import HookPoint, ReplyKind
from tildone.base import TYPE_CHECKING, StoreError, replace
from tildone.plan.dialects.native import context as plan_context
from tildone.plan.dialects.native import describe_changes, describe_kept
from tildone.plan.events import Actor, Directive
from tildone.plan.model import Plan, open_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.agents.hooks.context import HookContext
    from tildone.plan.reduce import Outcome

MAX_CONTEXT_LENGTH = 4000
"""How many characters are added to a model's context. For a longer plan, only the open tasks are listed.

A dialect that names tasks by their numbers keeps to it by itself: its model could not name those of another list.
"""

ECHO_LENGTH = 100
"""How much of a nudge is compared with a prompt."""

NOT_DONE = " is not done:\n"
"""Part of the nudges that do not depend on the dialect of the session."""

NEW = "new"
"""The source of a new conversation in Copilot CLI, which calls the hooks of the start and the first prompt at once."""

LOCK_FOLDER = ".news"
LOCK_TIMEOUT_SECONDS = 1.0


def started(context: HookContext) -> HookReply | None:
    """Return the plan at the start of a conversation, unless the hook of its first prompt, at the same time, did."""
    if context.event.text("source") != NEW:
        return remind(context)
    session = context.session
    return _one_at_a_time(context, lambda: remind(context) if session.plan_at(context.seen_head) is None else None)


def remind(context: HookContext) -> HookReply | None:
    """Return the plan for a model whose context lacks it; if the agent accepts none now, a later event adds it."""
    session, state = context.session, context.session.held_state
    # The texts of a dialect fit a model if they name no tool, or it has that tool.
    fits = not session.dialect.names_tools or can_use_tools(context.event, context.agent, context.settings)
    own = session.context() if fits else None
    text = plan_context(state.plan) if own is None else with_origins(own, session)
    left = _left_over(context) if session.plan_at(context.seen_head) is None else ""
    if text is None and not left:
        return None
    if not can_reply(context.event, ReplyKind.ADD_CONTEXT):
        session.set_seen_head(None)
        return None
    session.set_seen_head(state.head)
    text = text or ""
    if len(text) > MAX_CONTEXT_LENGTH and not session.dialect.numbered:
        text = plan_context(state.plan) or ""
    return HookReply(ReplyKind.ADD_CONTEXT, "\n".join(filter(None, (text, left))))


def _left_over(context: HookContext) -> str:
    """Say what agents of other conversations left open, and how to take it up; empty if that is nothing."""
    session = context.session
    left = session.left.tasks
    if not left:
        return ""
    # Late, because most plans are those of the conversation.
    from tildone.plan.dialects.native import left_over, to_start

    has_tools = can_use_tools(context.event, context.agent, context.settings)
    command = None if has_tools else tool_command(context.settings)
    return left_over(left, to_start(session.dialect, session.plan, left[0], command), numbered=session.dialect.numbered)


def prompted(context: HookContext) -> HookReply | None:
    """Return what changed in the plan since the model last saw it; a person's prompt also resets every count."""
    if not context.session.state.tripped and _is_echo(context):
        return _one_at_a_time(context, lambda: _news(context))
    if context.event.from_person:
        context.session.reset_counts()
    return _one_at_a_time(context, lambda: _with_plan(context, _news(context)))


def tool_called(context: HookContext) -> HookReply | None:
    """Mirror a call of a native tool, and return what others changed before. After `tildone stop`, nothing is told."""
    event = context.event
    if writes_native_list(event) or event.point in (HookPoint.TASK_CREATED, HookPoint.TASK_COMPLETED):
        return _one_at_a_time(context, lambda: _mirrored(context))
    if accepts_news(event) and context.session.state.directive is not Directive.STOP:
        return _one_at_a_time(context, lambda: _news(context))
    return None


def told_to_continue(context: HookContext, reply: HookReply | None) -> HookReply | None:
    """Return the reply to a stop with what others changed, except for added tasks, which the nudge lists anyway."""
    if reply is None or reply.kind is not ReplyKind.CONTINUE:
        return reply
    session, state = context.session, context.session.last_state
    changes = _describe_news(context, state.plan, state.head, with_added=False)
    session.set_seen_head(state.head)
    return reply if changes is None else replace(reply, text=f"{changes}\n{reply.text}")


def _is_echo(context: HookContext) -> bool:
    """Return whether a prompt repeats the text by which the agent was told to go on: some report it as a prompt."""
    prompt, nudge = context.event.text("prompt"), context.session.dialect.carry_on(context.session.held_state.plan)
    return any(text and text in prompt for text in (nudge.strip()[:ECHO_LENGTH], NOT_DONE))


def _mirrored(context: HookContext) -> HookReply | None:
    """Mirror a native tool. What it changed is known to the model; what others changed before is news."""
    from tildone.agents.hooks.native import mirror

    session = context.session
    mirrored, state = mirror(context.event, session, context.agents, context.agent.id), session.last_state
    if state.directive is Directive.STOP:
        return None
    if mirrored is None:
        return _news(context) if accepts_news(context.event) else None
    before = mirrored.outcome.before
    if context.seen_head is None and not open_tasks(before):
        session.set_seen_head(state.head)
        return _with_texts(context, None, after=(session.news_of_claims,))
    undone, kept = _undone(mirrored.outcome), ""
    if mirrored.kept or mirrored.gone:
        kept = describe_kept(mirrored.kept, mirrored.gone, numbers=session.dialect.numbered)
    reply = _tell(context, before, state.head)
    return _with_texts(context, reply, before=(undone,), after=(kept, session.news_of_claims))


def _undone(outcome: Outcome) -> str:
    """Return which tasks a list calls done, or leaves out, but whose checks are open; empty if there are none."""
    if not (outcome.unproved or outcome.kept):
        return ""
    from tildone.plan.text.proofs import undone_text

    return undone_text(outcome)


def _with_texts(
    context: HookContext, reply: HookReply | None, *, before: Iterable[str] = (), after: Iterable[str] = ()
) -> HookReply | None:
    """Return the reply to a native tool with texts before and after its own."""
    if not can_reply(context.event, ReplyKind.ADD_CONTEXT):
        return reply
    text = "\n".join(filter(None, (*before, reply.text if reply else "", *after)))
    return HookReply(ReplyKind.ADD_CONTEXT, text) if text else None


def _with_plan(context: HookContext, reply: HookReply | None) -> HookReply | None:
    """Return the reply to a prompt with the plan, if the model may have lost it."""
    plan = remind(context) if repeats_plan(context.event) else None
    if plan is None or reply is None or reply == plan:
        return reply if plan is None else plan
    return replace(reply, text=f"{reply.text}\n{plan.text}")


def _news(context: HookContext) -> HookReply | None:
    state = context.session.state
    return _tell(context, state.plan, state.head)


def _tell(context: HookContext, plan: Plan, head: str | None) -> HookReply | None:
    """Return what others changed up to `plan`, and record `head` as seen: that of `plan`, or of an own change to it."""
    session = context.session
    if session.plan_at(context.seen_head) is None:
        reply = remind(context)
        if reply is None and can_reply(context.event, ReplyKind.ADD_CONTEXT):
            session.set_seen_head(head)
        return reply
    changes = _describe_news(context, plan, head)
    if changes is not None and not can_reply(context.event, ReplyKind.ADD_CONTEXT):
        return None
    session.set_seen_head(head)
    return None if changes is None else HookReply(ReplyKind.ADD_CONTEXT, changes)


def _describe_news(context: HookContext, plan: Plan, head: str | None, *, with_added: bool = True) -> str | None:
    """Return what others changed between the plan that the model has seen and `plan`; None if that is nothing."""
    session, seen_head = context.session, context.seen_head
    seen = session.plan_at(seen_head)
    if seen is None or seen == plan:
        return None
    from tildone.plan.history.authors import MAX_EVENTS_READ, others_since
    from tildone.plan.history.changes import ChangeKind, change_sentences, changes_by_others

    own = session.author_of(Actor.AGENT)
    events = list(islice(session.store.history(session.name, head), MAX_EVENTS_READ))
    found = changes_by_others(seen, plan, events, seen_head, own)
    news = [change for change in found if with_added or change.kind is not ChangeKind.ADDED]
    sentences = change_sentences(news, numbers=session.dialect.numbered)
    return describe_changes(sentences, others_since(events, seen_head, own)) if sentences else None


def _one_at_a_time(context: HookContext, tell: Callable[[], HookReply | None]) -> HookReply | None:
    """Call `tell` while no other hook of the project does. If that takes too long, do not wait any longer."""
    from tildone.base.durable import FolderLock

    lock = FolderLock(os.path.join(context.agents.folder, LOCK_FOLDER), LOCK_TIMEOUT_SECONDS)
    try:
        lock.__enter__()
    except StoreError:
        return tell()
    try:
        return tell()
    finally:
        lock.__exit__(None, None, None)
