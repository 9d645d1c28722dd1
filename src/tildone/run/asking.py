"""A UI whose questions are in the store while they are open, so that other processes can answer them, too.

What a worker of a fleet sets for its agents is here as well: for what persons may be asked, a UI that nobody sits at,
and the limits of its providers.

Theory of operation. The store decides: an answer counts if it is the first one there. A question is added to the store
and asked on the inner UI. A thread waits for the store, without polling it more often than the store itself does. If
the person here answers first, the answer is written to the store; if somebody else was faster, theirs is used. If an
answer comes from the store, the inner question is cancelled. A question that is declined or cancelled is withdrawn.
Whatever happens to the question in the store wakes the thread, which then ends. Without a store that can be written, a
question is asked here only.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from tildone.app.answering import NO, YES
from tildone.app.opening import run_leases
from tildone.base import StoreError, TildoneError, UnknownNeed, replace, value
from tildone.base.ids import id_maker, now
from tildone.log.needs import Need, NeedAnswered
from tildone.log.store import Store
from tildone.plan.names import provider_family
from tildone.plan.runs import ASK_VARIABLE, LEASE_VARIABLE, MAX_REFUSED, CommandRefused, fence_in
from tildone.plan.text.safe import printable, single_line
from tildone.run.extension import UI, NoUI, OtherUI, PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.model import LimitedModel, Model
from tildone.run.shell_model import ShellModel
from tildone.run.tools.permissions import EVERYTHING, is_pattern, not_allowed

NOT_ASKED = PermissionReply(
    PermissionAnswer.NO, "Nobody was asked: the settings of this worker do not let persons approve it."
)


@value
class AskLimits:
    """The patterns of the commands for which persons may be asked."""

    patterns: tuple[str, ...]

    def permit(self, request: PermissionRequest) -> bool:
        """Return whether persons may be asked. Files are no commands: only if everything may be asked for."""
        if EVERYTHING in self.patterns:
            return True
        if request.is_diff or not request.details:
            return False
        return not_allowed("\n".join(request.details), tuple(filter(is_pattern, self.patterns))) == ()

    def limited(self, reply: PermissionReply | None) -> PermissionReply | None:
        """Return what an answer permits: no more than what was asked, unless everything may be asked for."""
        if reply is None or reply.answer is PermissionAnswer.NO or EVERYTHING in self.patterns:
            return reply
        return replace(reply, answer=PermissionAnswer.ONCE)


def ask_limits(environ: Mapping[str, str]) -> AskLimits | None:
    """Return the limits that a worker has set for this process; None if no worker has started it."""
    if not environ.get(LEASE_VARIABLE):
        return None
    return AskLimits(tuple(environ.get(ASK_VARIABLE, "").splitlines()))


T = TypeVar("T")

RECHECK_SECONDS = 60.0
"""How often the thread looks at the store even if nothing changes."""

ID_BYTES = 5
"""Ids are short, because a person types them."""


@value
class Asker:
    """Who asks: the session, the agent in it, and the person at the keyboard."""

    session: Callable[[], str]
    agent: Callable[[], str]
    person: Callable[[], str]


class SharedQuestions(OtherUI):
    """The UI `ui`, with questions that can be answered in the store.

    `limits` are those of a worker, if one has any, and `refused` is told of what a person, who is named, or these
    limits have not permitted, and why.
    """

    def __init__(
        self,
        ui: UI,
        store: Store,
        asker: Asker,
        limits: AskLimits | None = None,
        refused: Callable[[str, str, str], object] = lambda _text, _why, _by: None,
    ) -> None:
        super().__init__(ui)
        self._store = store
        self._asker = asker
        self._limits = limits
        self._refused = refused
        self._answered_by = ""

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        need = self._need("select", title, tuple(options))
        meanings = {option: option for option in options}
        return await self._first(need, self._ui.select(title, options, timeout), meanings.get, lambda chosen: chosen)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        need = self._need("confirm", f"{title}\n{message}" if message else title, (YES, NO))
        asked = self._ui.confirm(title, message, timeout)
        return await self._first(need, asked, lambda word: word == YES, lambda yes: YES if yes else NO)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        need = self._need("input", title, detail=placeholder)
        one_line = lambda text: " ".join(text.splitlines())  # noqa: E731  short
        return await self._first(need, self._ui.input(title, placeholder), one_line, lambda text: text)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask whether a tool may do something; another process answers with the value of a `PermissionAnswer`."""
        text = "\n".join(request.details) or request.question
        if self._limits is not None and not self._limits.permit(request):
            self._refused(text, NOT_ASKED.reason, "")
            return NOT_ASKED
        offered = [each.value for each in PermissionAnswer if each is not PermissionAnswer.PLAN or request.plan]
        covers = f"{request.question}\nalways {request.scope}: {request.always}" if request.always else request.question
        need = self._need("change" if request.is_diff else "command", text, tuple(offered), covers)
        meaning = lambda answer: permission_reply(answer, offered)  # noqa: E731  short
        reply = await self._first(need, self._ui.ask_permission(request), meaning, permission_words)
        if reply is not None and reply.answer is PermissionAnswer.NO:
            self._refused(text, reply.reason, self._answered_by or self._asker.person())
        return reply if self._limits is None else self._limits.limited(reply)

    def _need(self, kind: str, text: str, options: tuple[str, ...] = (), detail: str = "") -> Need:
        asker = self._asker
        return Need(os.urandom(ID_BYTES).hex(), asker.session(), kind, text, options, now(), asker.agent(), detail)

    async def _first(
        self,
        need: Need,
        asked: Coroutine[Any, Any, T],
        meaning: Callable[[str], T],
        words: Callable[[T], str | None],
    ) -> T:
        """Return the first answer: that of the inner UI, or the `meaning` of the one in the store."""
        try:
            self._store.records.ask(need)
        except StoreError:
            return await asked
        here, elsewhere = asyncio.ensure_future(asked), self._answer_in_store(need.id)
        both: list[asyncio.Future[Any]] = [here, elsewhere]
        decided: Need | None = None
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            decided = self._settled(need.id, words(here.result())) if here.done() else elsewhere.result()
        finally:
            elsewhere.cancel()
            if not here.done():
                here.cancel()
                with suppress(asyncio.CancelledError):
                    await here
            with suppress(StoreError):
                self._store.records.withdraw(need.id)
        self._answered_by = decided.answered_by if decided else ""
        if decided is None:
            return here.result()
        self.notify(f"Answered by {printable(decided.answered_by)}: {printable(single_line(decided.answer))}")
        return meaning(decided.answer)

    def _settled(self, need: str, answer: str | None) -> Need | None:
        """Write the answer of the person here, or withdraw the question; return an answer that was faster."""
        try:
            if answer is not None:
                self._store.records.answer(need, answer, self._asker.person(), now())
                return None
            self._store.records.withdraw(need)
            return self._store.records.need(need)
        except NeedAnswered as error:
            return error.need
        except (UnknownNeed, StoreError):
            return None

    def _answer_in_store(self, need: str) -> asyncio.Future[Need]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Need] = loop.create_future()

        def resolve(found: Need) -> None:
            if not answer.done():
                answer.set_result(found)

        def wait() -> None:
            found = self._waited_for(need)
            if found is not None:
                # A loop that is closed needs no answer.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(resolve, found)

        # A thread of its own, because a loop that ends waits for those of its pool.
        Thread(target=wait, name="tildone question", daemon=True).start()
        return answer

    def _waited_for(self, need: str) -> Need | None:
        """Wait for the answer; return None if the question is withdrawn, or the store fails."""
        try:
            while True:
                revision = self._store.records.revision()
                found = self._store.records.need(need)
                if found is None or not found.is_open:
                    return found
                self._store.records.wait_any(revision, RECHECK_SECONDS)
        except StoreError:
            return None


def permission_reply(answer: str, offered: Sequence[str]) -> PermissionReply:
    """Return what an answer to a permission question means. Other words are a no, with them as the reason."""
    word, _, reason = answer.partition(":")
    if word.strip().lower() in offered:
        allowed = PermissionAnswer(word.strip().lower())
        return PermissionReply(allowed, reason.strip() if allowed is PermissionAnswer.NO else "")
    return PermissionReply(PermissionAnswer.NO, answer.strip())


def permission_words(reply: PermissionReply | None) -> str | None:
    if reply is None:
        return None
    return f"{reply.answer.value}: {reply.reason}" if reply.reason else reply.answer.value


class UnattendedUI(NoUI):
    """Never answers, and prints what is shown."""

    has_ui = True

    def set_status(self, key: str, text: str | None) -> None:
        if text:
            _print(f"{key}: {text}")

    def notify(self, message: str, kind: str = "info") -> None:
        _print(f"{kind}: {message}")

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ARG002, ASYNC109  the protocol's
        return await _unanswered(None, timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ARG002, ASYNC109  the protocol's
        return await _unanswered(False, timeout)  # noqa: FBT003  the answer of nobody

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002  the protocol's
        return await _unanswered(None)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:  # noqa: ARG002  the protocol's
        return await _unanswered(None)


def under_lease(
    store: Store, environ: Mapping[str, str], stop: Callable[[str], object]
) -> Callable[[str, str, str], None]:
    """Return what records that something was refused in a run of a fleet; what a person denies stops the turn.

    The order of the plan holds: nothing that comes after a denied step is done.
    """
    lease = environ.get(LEASE_VARIABLE)

    def refused(text: str, why: str, by: str) -> None:
        if not lease:
            return
        held = fence_in(lease)
        fact = CommandRefused(held.run, held.hand, text[:MAX_REFUSED], why, by)
        with suppress(StoreError):
            run_leases(store).append(held, fact, id_maker(now, os.urandom)())
        if by:
            stop(f"denied by {printable(by)}")

    return refused


def unattended_ui(environ: Mapping[str, str]) -> UI | None:
    """Return the UI of a host that works for a run of a fleet; None if it does not."""
    return UnattendedUI() if environ.get(LEASE_VARIABLE) else None


def limited_model(model: Model, store: Store, environ: Mapping[str, str], ui: UI | None) -> Model:
    """Return a model that keeps to the limits of the fleet, if the host works for a run of one."""
    if not environ.get(LEASE_VARIABLE) or isinstance(model, ShellModel):
        return model
    try:
        leases = run_leases(store)
    except TildoneError:
        # A store without leases has no limits.
        return model
    shown, provider = ui or NoUI(), provider_family(model.provider)

    def take() -> int:
        try:
            return leases.request(provider)
        except StoreError:
            # The limit is for the provider's sake. A store that fails must not stop the agent.
            return 0

    return LimitedModel(model, take, lambda text: shown.set_status("limit", text))


async def _unanswered(declined: T, seconds: float | None = None) -> T:
    """Wait until somebody answers in the store, which cancels the question, or for so many seconds."""
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    await asyncio.wait({waiting}, timeout=seconds)
    return declined


def _print(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()
