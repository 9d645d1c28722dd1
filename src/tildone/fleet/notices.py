"""Tells the person, by a command of theirs, that a run needs them, and that no run goes on.

The command gets what happened in its environment, never in its words: names and texts are those of plans and agents.
Of several workers that end at the same moment, each may tell that no run goes on.
"""

import os
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Thread

from tildone.app.answering import open_questions
from tildone.app.result_texts import counts_text
from tildone.app.run_results import RunResults, current_results
from tildone.base import StoreError
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.plan.runs import Lease, LeaseState
from tildone.plan.text.runs import hand_name, short_reason
from tildone.plan.text.safe import clipped, printable
from tildone.stores.leasing import RunLeases

SECONDS, CLOSING_SECONDS = 60, 10
"""How long a command may take, and how long a worker that ends waits for it."""

MAX_TEXT = 1000
NEEDS, OVER = "needs", "over"
"""What a person is told of: a run needs them, or no run goes on."""


class PersonNotices:
    """Notices of one worker. Without a `command`, nothing is told. `tell` is given what went wrong."""

    def __init__(self, command: str, store: Store, leases: RunLeases, tell: Callable[[str], None]) -> None:
        self._command, self._store, self._leases, self._tell = command, store, leases, tell
        self._since = now()
        self._asked: set[str] = set()
        self._running: list[Thread] = []

    def look(self, lease: Lease) -> None:
        """Tell of what the agent of a lease asks and waits for.

        Raises StoreError if the store cannot be read.
        """
        if self._command:
            for need in _of_session(self._store.records.needs(), lease.session):
                if need.id not in self._asked:
                    self._asked.add(need.id)
                    self._notify(NEEDS, lease, f"{hand_name(lease)} asks: {need.text}")

    def ended(self, lease: Lease, why: str) -> None:
        """Tell how the work under a lease has ended, if it needs a person or was the last."""
        if not self._command:
            return
        try:
            asked = open_questions(self._store, [lease])
            goes_on = any(each.state is LeaseState.OPEN for each in self._leases.active())
        except StoreError:
            asked, goes_on = [], True
        if lease.state is LeaseState.FAILED:
            self._notify(NEEDS, lease, f"{hand_name(lease)} has failed: {short_reason(why)}")
        elif lease.state is LeaseState.WAITING:
            texts = "; ".join(question.text.partition("\n")[0] for question in asked)
            self._notify(NEEDS, lease, f"{hand_name(lease)} {f'asks: {texts}' if texts else 'waits for you'}")
        if not goes_on:
            with suppress(StoreError):
                found = current_results(RunResults(self._store, now), self._leases, self._store, self._since)
                self._notify(OVER, lease, f"No run goes on: {counts_text(found)}")

    def _notify(self, what: str, lease: Lease, text: str) -> None:
        words = {"TILDONE_NOTICE": what, "TILDONE_RUN": lease.run, "TILDONE_TEXT": clipped(printable(text), MAX_TEXT)}
        thread = Thread(target=self._run, args=(words,), name="notice", daemon=True)
        self._running = [*(each for each in self._running if each.is_alive()), thread]
        thread.start()

    def close(self) -> None:
        """Wait until the commands that run have ended, for a while."""
        for thread in self._running:
            thread.join(CLOSING_SECONDS)

    def _run(self, words: dict[str, str]) -> None:
        try:
            done = subprocess.run(  # noqa: S602  the command of the person, from their own settings
                self._command,
                shell=True,
                env=os.environ | words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            self._tell(f"the command of `notify` failed: {printable(str(error))}")
            return
        if done.returncode:
            self._tell(f"the command of `notify` ended with exit code {done.returncode}")


def _of_session(needs: Collection[Need], session: str) -> list[Need]:
    return [need for need in needs if need.session == session]
