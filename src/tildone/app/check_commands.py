"""The commands of checks: run in a working tree to their end, with a small environment and a limit of time."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import file_digest
from io import BufferedReader
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic

from tildone.base import TildoneError, value
from tildone.plan.model import Check
from tildone.plan.text.proofs import check_text

MAX_OUTPUT_BYTES = 1_000_000
"""How much of the output is kept: the end."""

NEW_GROUP = 0x200 if sys.platform == "win32" else 0
"""The value of `subprocess.CREATE_NEW_PROCESS_GROUP`, which only Windows has."""

LOOK_SECONDS = 0.2
"""How often it is looked whether a command is to be stopped."""

KILL_SECONDS = 2.0
"""How long a command that was asked to end may take before it is killed."""

TRIAL_SECONDS = 3.0
"""How long a command may take in an empty folder; of one that takes longer, nothing is said."""

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
    end the command: by setting `over`, which is set at its end anyway. Raises Interrupted if another thread has ended
    the command.
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


def warnings_about(checks: Iterable[Check]) -> list[str]:
    """Return what a person should know about checks that they have approved: which also pass in an empty folder.

    Such a check does not depend on the work. The command is run once more for it, which only an approval allows.
    """
    said = "this check seems to always pass: it passed in an empty folder, too"
    return [f"{said}: {check_text(check)}" for check in checks if _passes(check)]


def _passes(check: Check) -> bool:
    # What it leaves behind may be in use for a moment.
    with TemporaryDirectory(prefix="tildone-", ignore_cleanup_errors=True) as folder:
        return run_command(check.command, folder, min(TRIAL_SECONDS, check.seconds), os.environ).exit_code == 0


def _found(name: str, folder: str, path: str) -> str:
    """Return the path of a program, as the system looks for it in a folder.

    Raises FileNotFoundError if there is none.
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
