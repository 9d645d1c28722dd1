"""`CheckRunner`: runs checks in the plan's working tree, and compares proofs with the files as they are now."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from hashlib import file_digest
from threading import Event, Thread
from time import monotonic

from tildone.app.trust import Consent
from tildone.app.watched import TIMEOUT_SECONDS, WatchedFiles
from tildone.base import TYPE_CHECKING, value
from tildone.base.errors import Refused, TildoneError
from tildone.base.private import REPLACED, make_private_folder, open_private, real_path_inside
from tildone.plan.model import Proof, Result
from tildone.plan.text.proofs import check_text, output_end
from tildone.stores.agents import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from io import BufferedReader

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
        """Return whether a person has approved the check, so that it may be run."""
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
        """Return the files as they were when they were first looked at since the last check was run."""
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
        from tildone.app.proofs import CommandResult, run_command  # noqa: PLC0415  see `_run`

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


MAX_OUTPUT_BYTES = 1_000_000
"""How much of the output is kept: the end."""

NEW_GROUP = 0x200 if sys.platform == "win32" else 0
"""The value of `subprocess.CREATE_NEW_PROCESS_GROUP`, which only Windows has."""

LOOK_SECONDS = 0.2
"""How often it is looked whether a command is to be stopped."""

KILL_SECONDS = 2.0
"""How long a command that was asked to end may take before it is killed."""

_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES"),
    *("USERPROFILE", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"),
    *("GOPATH", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
)
"""The variables that programs need to find themselves, their tools and their caches. None of them holds a secret."""


class Interrupted(TildoneError):
    """Somebody ended the command before it had a result."""


@value
class CommandResult:
    """How a command ended: its exit code, or why there is none; the end of its output; how long it took; what ran."""

    exit_code: int | None
    problem: str
    output: str
    milliseconds: int
    program: str = ""
    program_sha256: str = ""


def run_command(
    command: Sequence[str], folder: str, seconds: float, environ: Mapping[str, str], over: Event | None = None
) -> CommandResult:
    """Run a command to its end, or for at most `seconds`; then the whole process group is ended.

    The program is looked for in the PATH of `environ` and nowhere else. Standard input is empty, and both outputs are
    read together. A process that leaves the group and keeps an output open does not hold this up. Another thread may
    end the command: by setting `over`, which is set at its end anyway.

    Raises:
        Interrupted: another thread has ended the command.
    """
    began = monotonic()
    try:
        program = _found(command[0], folder, environ.get("PATH", ""))
        # Before it runs: afterwards, it may be another.
        sha256 = _sha256(program)
        process = subprocess.Popen(  # noqa: S603  a person has approved the command
            list(command),
            executable=program,
            cwd=folder,
            env=small_environment(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            creationflags=NEW_GROUP,
            start_new_session=sys.platform != "win32",
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return CommandResult(None, f"it could not be started: {reason}", "", _since(began))
    output = _Output(process)
    code, problem = _waited_for(process, seconds, over or Event())
    return CommandResult(code, problem, output.text(), _since(began), program, sha256)


def _found(name: str, folder: str, path: str) -> str:
    """Return the path of a program, as the system looks for it in a folder.

    Raises:
        FileNotFoundError: there is none.
    """
    if os.path.dirname(name):
        return os.path.join(folder, name)
    for place in path.split(os.pathsep):
        if place and (program := shutil.which(os.path.join(folder, place, name))):
            return program
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def _sha256(path: str) -> str:
    """Return the digest of a file as `sha256sum` prints it; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _waited_for(process: subprocess.Popen[bytes], seconds: float, over: Event) -> tuple[int | None, str]:
    """Return the exit code of a process, or None and why there is none. Its group is ended in any case."""

    def wait() -> None:
        process.wait()
        over.set()

    # In a thread, because a wait with a time limit polls, which takes up to 50 ms longer than the command.
    Thread(target=wait, daemon=True).start()
    try:
        is_over = over.wait(seconds)
        code = process.returncode
    finally:
        # Also after its end: what it started in the background must not run on.
        end_group(process)
    if not is_over:
        return None, f"it took longer than {seconds:g} s"
    if code is None:
        raise Interrupted("the check was interrupted")
    return (None, f"it was ended by signal {-code}") if code < 0 else (code, "")


def small_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a check is given: those that programs need, and no secrets."""
    kept = {name: text for name, text in environ.items() if name.upper() in _KEPT or name.startswith("LC_")}
    return kept | {"TERM": "dumb", "NO_COLOR": "1", "CI": environ.get("CI", "1")}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything in its group: politely, then by force."""
    if sys.platform == "win32":
        if process.poll() is None:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)  # noqa: S603, S607  the number of our own process; Windows has it in its path
        process.wait()
        return
    for number, patience in ((signal.SIGTERM, KILL_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


class _Output:
    """Reads the output of a process in the background, and keeps its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._kept = bytearray()
        self._total = 0
        self._thread = Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the end of the output, and how much is left out. Whoever keeps the pipe open is not waited for."""
        self._thread.join(KILL_SECONDS)
        kept = bytes(self._kept[-MAX_OUTPUT_BYTES:])
        left_out = self._total - len(kept)
        text = kept.decode("utf-8", "replace").replace("\r\n", "\n")
        return f"[the first {left_out:,} bytes are left out]\n{text}" if left_out else text

    def _read(self, pipe: BufferedReader) -> None:
        with pipe:
            while chunk := pipe.read1(1 << 16):
                self._kept += chunk
                self._total += len(chunk)
                if len(self._kept) > 2 * MAX_OUTPUT_BYTES:
                    del self._kept[:-MAX_OUTPUT_BYTES]


def _since(began: float) -> int:
    return int((monotonic() - began) * 1000)
