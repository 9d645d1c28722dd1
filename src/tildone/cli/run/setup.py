"""What every mode is given: a host to be opened for whoever watches, what is said first, and how it all ended."""

from __future__ import annotations

import os
import shlex
from functools import partial

from tildone.cli.run.arguments import ID, SHELL, RunArguments
from tildone.core.query import open_tasks, progress
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import NotFound, TildoneError, UsageError
from tildone.host.host import Host
from tildone.host.messages import StopReason, last_answer
from tildone.host.model import Model
from tildone.host.shell_model import ShellModel
from tildone.host.shell_model.script import read_script
from tildone.host.tools.permissions import PermissionPolicy
from tildone.host.transcript import Transcript
from tildone.host.ui import UI
from tildone.ids import now
from tildone.kit.formatting import format_count
from tildone.log.address import parse_address
from tildone.log.events import Directive
from tildone.log.store import Store
from tildone.stores.memory import MemoryStore
from tildone.value import replace, value
from tildone.wiring import open_session, open_store
from tildone.wiring.hosting import open_conversations, open_host

INTERRUPTED = 130


@value
class RunOutcome:
    """How a run ended: its exit code, why it is not 0, and whether whoever watched has heard why."""

    code: int
    why: str = ""
    heard: bool = True

    def exit(self) -> int:
        """The exit code, for a mode in which nothing was said of the end yet.

        Raises:
            TildoneError: the run failed, and this says why.
        """
        if self.code == TildoneError.exit_code:
            raise TildoneError(self.why)
        return self.code


class RunSetup:
    """One run, before and after the curtain."""

    def __init__(self, order: RunArguments) -> None:
        """Choose the conversation and the model; nothing is written yet.

        Raises:
            UsageError: there is no such model, or the plan cannot be run.
            NotFound: there is no such conversation.
        """
        self._order = order
        self._store: Store = open_store(order.settings) if order.kept else MemoryStore()
        self._model = _model(order)
        self.conversations = open_conversations(order.settings, order.cwd, kept=order.kept)
        self.transcript, forked = self._transcript()
        self.prompt = order.work.prompt if order.work else forked

    def open(self, ui: UI | None = None) -> Host:
        """The host, for whoever watches."""
        order = self._order
        return open_host(
            order.settings,
            self._store,
            self.transcript,
            cwd=order.cwd,
            model=self._model,
            mode=order.mode,
            ui=ui,
            policy=PermissionPolicy(order.allow, outside=order.outside) if order.tools else None,
        )

    def verdict(self, host: Host) -> RunOutcome:
        """How the last run of the host ended."""
        last = last_answer(host.transcript.messages())
        reason = last.stop_reason if last else StopReason.STOP
        state = open_session(replace(self._order.settings, session=host.transcript.id), BY_HAND, self._store).state
        again = f"tildone resume --session {host.transcript.id}"
        if reason == StopReason.ABORTED and state.directive is Directive.STOP:
            return RunOutcome(1, f"stopped by tildone stop; to go on: {again}", heard=False)
        if reason == StopReason.ABORTED:
            return RunOutcome(INTERRUPTED, "interrupted")
        if last is not None and reason == StopReason.ERROR:
            return RunOutcome(1, last.error_message or "the model failed")
        left = len(open_tasks(state.plan))
        if left:
            paused = f"; paused, to go on: {again}" if state.directive is Directive.PAUSE else ""
            far = f"{left} of {format_count(progress(state.plan).total, 'task')} left open"
            return RunOutcome(1, f"{far}{paused}", heard=False)
        return RunOutcome(0)

    def hint(self, host: Host) -> str | None:
        """Where to read what happened; nothing where nothing is kept."""
        if not self._order.kept:
            return None
        where = f" --store {shlex.quote(parse_address(self._order.store).redacted)}" if self._order.store else ""
        return f"How it went: tildone log --session {host.transcript.id}{where}"

    def _transcript(self) -> tuple[Transcript, str | None]:
        """The conversation, and what was said where it was forked."""
        found = self._found()
        if self._order.fork is None:
            return found or self.conversations.new(), None
        source = found or self.conversations.latest()
        if source is None:
            raise NotFound("there is no conversation here to fork")
        return self.conversations.fork(source, self._order.fork)

    def _found(self) -> Transcript | None:
        order = self._order
        if order.newest:
            newest = self.conversations.latest()
            if newest is None:
                raise NotFound(f"there is no conversation in {order.settings.session_dir} to go on with")
            return newest
        if order.resume is not None:
            return self.conversations.find(order.resume)
        return self._named(order.session) if order.session is not None else None

    def _named(self, name: str) -> Transcript:
        """The conversation of that id or in that file; a new one of that id where there is none."""
        if name.endswith(".jsonl") or os.sep in name:
            return self.conversations.load(name)
        if not ID.fullmatch(name):
            raise UsageError(f"{name!r} is no id: it has letters, digits, dots, dashes and _ only")
        folder = self._order.settings.session_dir
        files = os.listdir(folder) if os.path.isdir(folder) else []
        same = [file for file in files if file.partition("_")[2] == f"{name}.jsonl"]
        if same:
            return self.conversations.load(os.path.join(folder, max(same)))
        return open_conversations(self._order.settings, self._order.cwd, new_id=partial(str, name)).new()


def _model(order: RunArguments) -> Model:
    if order.model == SHELL and order.work is not None and order.work.plan is not None:
        return ShellModel(read_script(order.work.plan, order.work.name), now)
    # Late, because the library behind it takes seconds to load, and a plan with commands needs none of it.
    from tildone.host.providers import open_model  # noqa: PLC0415  see above

    return open_model(order.model)
