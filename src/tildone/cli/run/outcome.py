"""How a run ended: its exit code, the reason, and the commands that lead on from there.

The exit codes of `tildone run`: 0, every task is done; 1, tasks are left open, or the work failed; 2 to 5, the run
could not start (see `tildone.errors`); 128 plus its number, a signal ended the run (130 for Ctrl-C, 143 for SIGTERM).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from tildone.cli.output.screen import put_notice
from tildone.cli.run.arguments import RunArguments
from tildone.core.query import open_tasks, progress
from tildone.distribution import program
from tildone.host.conversations import Conversations
from tildone.host.host import Host
from tildone.host.messages import StopReason, last_answer
from tildone.kit.formatting import format_count
from tildone.log.events import Directive
from tildone.log.state import State
from tildone.session import Session
from tildone.value import value
from tildone.views.bounds import describe_bound
from tildone.views.sanitize import printable_lines

INTERRUPTED = 130
FAILED = 1


@value
class RunOutcome:
    """How a run ended. `reported` means that the reason has been shown; `next_step` is what the person may do now."""

    code: int
    reason: str = ""
    reported: bool = True
    next_step: str = ""


class OutcomeReport:
    """Describes the outcomes of one run. `session` returns that of the plan it works on."""

    def __init__(self, arguments: RunArguments, session: Callable[[], Session], conversations: Conversations) -> None:
        self._arguments = arguments
        self._session = session
        self._conversations = conversations
        self._first = session().name, session().state.head

    def outcome(self, host: Host) -> RunOutcome:
        """Return how the host's last run ended."""
        last = last_answer(host.transcript.messages())
        stop_reason = last.stop_reason if last else StopReason.STOP
        state = self._session().state
        if stop_reason == StopReason.ABORTED and state.directive is Directive.STOP:
            return RunOutcome(FAILED, "stopped by tildone stop", reported=False, next_step=self.next_step(host))
        if stop_reason == StopReason.ABORTED and state.tripped:
            reason = f"stopped: {describe_bound(state.tripped.bound, state.tripped.limit)}"
            return RunOutcome(FAILED, reason, reported=False, next_step=self.next_step(host))
        if stop_reason == StopReason.ABORTED:
            return self.interrupted(host, INTERRUPTED)
        if last is not None and stop_reason == StopReason.ERROR:
            return RunOutcome(FAILED, last.error_message or "the model failed", next_step=self.next_step(host))
        left = len(open_tasks(state.plan))
        if left:
            why = " (paused)" if state.directive is Directive.PAUSE else self._bound(state)
            remaining = f"{left} of {format_count(progress(state.plan).total, 'task')} left open{why}"
            return RunOutcome(FAILED, remaining, reported=False, next_step=self.next_step(host))
        return RunOutcome(0)

    def _bound(self, state: State) -> str:
        """Return the bound that ended the run, in parentheses, where nothing else has shown it."""
        if state.tripped is None or self._arguments.mode == "terminal":
            return ""
        return f" ({describe_bound(state.tripped.bound, state.tripped.limit)})"

    def interrupted(self, host: Host, code: int) -> RunOutcome:
        """Return the outcome of a run that a signal or the person ended."""
        return RunOutcome(code, "interrupted", next_step=self.next_step(host))

    def next_step(self, host: Host) -> str:
        """Return the command that continues the run; empty if nothing was stored."""
        arguments, transcript = self._arguments, host.transcript
        if not arguments.stored or transcript.file is None:
            return ""
        choice = "--continue" if self._conversations.is_latest(transcript) else f"--resume {transcript.id}"
        command = f"{program()} run {choice}"
        folder = arguments.settings.session_dir
        if folder != arguments.defaults.session_dir:
            command += f" --session-dir {shlex.quote(folder)}"
        # Code is not stored in a conversation.
        command += "".join(f" --extension {shlex.quote(form)}" for form in arguments.given.values("extension"))
        if self._session().state.directive is not Directive.GO:
            command = f"{program()} resume{self.plan_options()} && {command}"
        return f"To go on: {command}"

    def log_hint(self) -> str | None:
        """Return the command that shows the history of the run; None if nothing was recorded."""
        session = self._session()
        if not self._arguments.stored or session.state.head in (None, self._first_head(session.name)):
            return None
        return f"How it went: {program()} log{self.plan_options()}"

    def _first_head(self, name: str) -> str | None:
        """Return the head of a session when the run began; None if the run has begun the session."""
        return self._first[1] if self._first[0] == name else None

    def plan_options(self) -> str:
        """Return the options that name the plan, as far as it is not the one that is meant without them."""
        settings, defaults = self._arguments.settings, self._arguments.defaults
        words, session = [], self._session().name
        if session != defaults.session:
            words += ["--session", shlex.quote(session)]
        if settings.store != defaults.store:
            words += ["--store", shlex.quote(settings.store.redacted)]
        return "".join(f" {word}" for word in words)


def report_on_stderr(outcome: RunOutcome) -> int:
    """Write the reason and the next step to standard error, for modes whose output is for programs. Return the code."""
    if outcome.code:
        lines = [f"tildone: {outcome.reason}", *filter(None, [outcome.next_step])]
        put_notice("\n".join(line for text in lines for line in printable_lines(text)))
    return outcome.code
