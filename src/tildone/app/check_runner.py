"""`CheckRunner`: proves tasks by their checks, and compares proofs with the files as they are now."""

from __future__ import annotations

import os
from time import monotonic

from tildone.app.check_files import TIMEOUT_SECONDS, WatchedFiles
from tildone.app.trust import Consent
from tildone.base import TYPE_CHECKING, Refused
from tildone.base.private import REPLACED, make_private_folder, open_private, real_path_inside
from tildone.plan.model import Proof, Result
from tildone.plan.text.proofs import check_text, output_end
from tildone.stores.agents import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from tildone.app.check_commands import CommandResult
    from tildone.app.trust import Approvals
    from tildone.plan.model import Check


MAX_SECONDS = 86_400.0
"""How long a check may take whose own limit is longer, or which has none."""

SECONDS_TO_LOOK = 2.5
"""How long a hook may take to look at the files."""


class CheckRunner:
    """Runs the checks of one plan.

    `project` is the working tree. Paths that begin with one of `ignored` are tildone's own, and are watched by nobody.
    `outputs` is the folder where the whole outputs are kept, and `listings` that of `KeptListings`. `started` is called
    before each check is run. `ask` asks the person, if there is a way to, whether a check that was only proposed may be
    run. `seconds` limits how long all checks together may take, in a hook: those that do not end in time are not
    proved, and nothing is known of them. `nobody` returns why the answers to `ask` would be no person's; else nothing.

    A runner is for one change of the plan, or for one look at its proofs: it looks at the files once, and again only
    after it has run a check. What is edited meanwhile makes a proof stale, as it should.
    """

    def __init__(  # noqa: PLR0913  all dependencies are passed by name
        self,
        project: str,
        approvals: Approvals,
        *,
        ignored: Sequence[str] = (),
        outputs: str = "",
        listings: str = "",
        now: Callable[[], int],
        by: Callable[[], str] = str,
        started: Callable[[int, Check], None] = lambda _number, _check: None,
        seconds: float | None = None,
        nobody: Callable[[], str] = str,
    ) -> None:
        self._project = project
        self._approvals = approvals
        self._ignored = tuple(ignored)
        self._outputs = outputs
        self._listings = listings
        self._now = now
        self._by = by
        self.started = started
        self.nobody = nobody
        self.ask: Callable[[int, Check], Consent] = lambda _number, _check: Consent.NO
        self._deadline = None if seconds is None else monotonic() + seconds
        self._running: list[Event] = []
        self._seen: WatchedFiles | None = None

    def is_allowed(self, check: Check) -> bool:
        return self._approvals.is_allowed(check)

    def prove(self, checks: Mapping[int, Check]) -> dict[int, Proof]:
        """Run these checks, one after the other. Several tasks with the same check share one run."""
        done: dict[Check, Proof | None] = {}
        for number, check in checks.items():
            if check not in done:
                done[check] = self._run(number, check)
        return {number: proof for number, check in checks.items() if (proof := done[check]) is not None}

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        """Return for which of these proofs the watched files have changed since."""
        files = self._files()
        return frozenset(number for number, (check, proof) in proofs.items() if not _is_fresh(check, proof, files))

    @property
    def status(self) -> bytes | None:
        """What `git status` printed when the files were looked at; None if they were not, or are looked at again."""
        return self._seen.status if self._seen is not None else None

    def _files(self) -> WatchedFiles:
        if self._seen is None:
            seconds = TIMEOUT_SECONDS if self._deadline is None else SECONDS_TO_LOOK
            self._seen = WatchedFiles(self._project, self._ignored, seconds, self._listings)
        return self._seen

    def interrupt(self) -> None:
        """End the checks that other threads run now. They raise `Interrupted` there, and nothing is recorded."""
        for over in tuple(self._running):
            over.set()

    def _is_approved(self, number: int, check: Check) -> bool:
        if self.is_allowed(check):
            return True
        if self.nobody():
            return False
        consent = self.ask(number, check)
        if consent is Consent.ALWAYS:
            self._approvals.approve(check)
        return consent is not Consent.NO

    def _run(self, number: int, check: Check) -> Proof | None:
        """Run a check; None if it did not end in the time that there is."""
        if not self._is_approved(number, check):
            return Proof(Result.REFUSED, check.command, reason="a person has to approve its check first")
        from tildone.base.secrets import Redactor  # noqa: PLC0415  most hooks run no commands

        files, self._seen = self._files(), None
        # Before it runs: what is changed meanwhile, it may not have seen.
        tracked, everything = "" if check.watches else files.tracked(()), files.everything(check.watches)
        self.started(number, check)
        result = self._attempts(check)
        if result is None:
            return None
        outcome = Result.PASSED if result.exit_code == 0 else Result.FAILED
        command = check_text(check)
        reason = "" if outcome is Result.PASSED else f"`{command}` failed with exit code {result.exit_code}"
        if result.exit_code is None:
            outcome, reason = Result.INCONCLUSIVE, f"`{command}` is inconclusive: {result.problem}"
        # A check gets no secrets from the environment, but it may find them in files.
        output = "" if outcome is Result.PASSED else Redactor(os.environ).text(result.output)
        return Proof(
            outcome,
            check.command,
            tracked,
            everything,
            result.exit_code,
            reason,
            result.milliseconds,
            self._now(),
            self._by(),
            "" if outcome is Result.PASSED else self._keep(check, output),
            output_end(output),
            result.program,
            result.program_sha256,
        )

    def _attempts(self, check: Check) -> CommandResult | None:
        """Run a command until it passes, as often as it may fail; None if the time for all checks is over."""
        # Late, because most looks at proofs run no command.
        from threading import Event  # noqa: PLC0415  see above

        from tildone.app.check_commands import CommandResult, run_command  # noqa: PLC0415  see above

        over, environ = Event(), dict(os.environ)
        environ["PATH"] = self._approvals.search_path(check, environ.get("PATH", ""))
        try:
            folder = real_path_inside(self._project, os.path.join(self._project, check.folder))
        except Refused as error:
            return CommandResult(None, str(error), "", 0)
        self._running.append(over)
        try:
            result = None
            for _ in range(check.retries + 1):
                left = self._seconds_left()
                if left <= 0:
                    return None
                over.clear()
                result = run_command(check.command, folder, min(check.seconds, left), environ, over)
                if result.exit_code in (0, None):
                    break
            is_late = result is None or (result.exit_code is None and self._seconds_left() <= 0)
            return None if is_late else result
        finally:
            self._running.remove(over)

    def _seconds_left(self) -> float:
        return MAX_SECONDS if self._deadline is None else self._deadline - monotonic()

    def _keep(self, check: Check, output: str) -> str:
        """Write the whole output to a file, in place of the last one, and return its path; empty if that fails."""
        if not self._outputs:
            return ""
        path = os.path.join(self._outputs, digest("\0".join((self._project, check.folder, *check.command))) + ".log")
        try:
            make_private_folder(self._outputs)
            with os.fdopen(open_private(path, REPLACED), "w", encoding="utf-8", errors="replace") as file:
                file.write(output)
        except OSError:
            return ""
        return path


def _is_fresh(check: Check, proof: Proof, files: WatchedFiles) -> bool:
    """Return whether the files are as they were.

    A check that names what it watches watches all such files, tracked or not. One that does not watches the tracked
    files: a new file that is added to the repository was there before it was tracked, and one that is not added is not
    watched, so that it suffices if one of the two digests is the same.
    """
    if not proof.files and not proof.all_files:
        return True
    # What cannot be read now, in time, is not called stale.
    if proof.files and files.tracked(check.watches) in ("", proof.files):
        return True
    return proof.all_files != "" and files.everything(check.watches) in ("", proof.all_files)
