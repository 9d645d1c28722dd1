"""Runs git for a worker: never asks at a terminal, runs no hooks, and speaks only the usual protocols.

The agent can write to the settings of the repository that it works in. So git runs no program that these settings name:
what they say about filters, drivers, helpers and transports is replaced by what the settings of the person say, or by
nothing. Nor does git get the secrets in the worker's environment, except those that it needs to reach a remote.
"""

import os
import re
import subprocess
from collections.abc import Sequence

from tildone.base import TildoneError
from tildone.base.secrets import command_environment

SECONDS = 600.0
"""How long one command of git may take: a first clone of a large repository takes minutes."""

LOCK_MS = 10_000
"""How long git waits for another process that moves the same ref: the hands of a run move its branch."""

_SETTINGS = (f"core.hooksPath={os.devnull}", "core.fsmonitor=", "gc.auto=0", f"core.filesRefLockTimeout={LOCK_MS}")
_PREFIX = ("git", "--no-pager", *(word for setting in _SETTINGS for word in ("-c", setting)))
_LIST = ("config", "--list", "--show-scope", "-z")
_PERSONS = ("system", "global")
_PROGRAMS = re.compile(
    r"filter\..*\.(clean|smudge|process|required)|diff\..*\.(command|textconv)|diff\.external|merge\..*\.driver|"
    r"core\.(sshcommand|askpass|editor|pager|gitproxy|alternaterefscommand|worktree)|sequence\.editor|gpg(\..*)?\.program|"
    r"credential(\..*)?\.helper|remote\..*\.(uploadpack|receivepack|vcs)|submodule\..*\.update|url\..*\.(insteadof|pushinsteadof)|"
    r"uploadpack\.packobjectshook|http(\..*)?\.(proxy|sslcert|sslkey)|commit\.gpgsign|include(if\..*)?\.path"
)
"""The settings by which git starts other programs, or sends a person's credentials elsewhere."""

_IDENTITY = {"NAME": "tildone", "EMAIL": "tildone@localhost"}
_ENVIRON = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}
_LAST_LINES = 3


class GitError(TildoneError):
    """A command of git failed, or could not be run."""


class Git:
    """Git in one folder."""

    def __init__(self, folder: str, seconds: float = SECONDS) -> None:
        self.folder, self._seconds = folder, seconds

    def run(self, *arguments: str, index: str = "", text: str | None = None) -> str:
        """Run a command and return its output without the last line end; `index` is a file to use as the index.

        Raises GitError if It failed; the message has the end of what it printed.
        """
        done = self._run(arguments, index, text)
        if done.returncode:
            last = "; ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-_LAST_LINES:])
            raise GitError(f"git {arguments[0]} failed in {self.folder}: {last or f'exit code {done.returncode}'}")
        return done.stdout.removesuffix("\n")

    def asks(self, *arguments: str) -> str | None:
        succeeded, printed = self.tries(*arguments)
        return printed if succeeded else None

    def tries(self, *arguments: str) -> tuple[bool, str]:
        """Return whether a command succeeds, and what it prints."""
        done = self._run(arguments, "", None)
        return not done.returncode, done.stdout.removesuffix("\n")

    def _overrides(self) -> list[str]:
        """Return the options that replace what the repository says about programs."""
        listed = self._run(_LIST, "", None, overrides=()).stdout.split("\0")
        persons, others = {}, set()
        for scope, setting in zip(listed[::2], listed[1::2], strict=False):
            key, _, value = setting.partition("\n")
            if scope in _PERSONS:
                persons[key] = value
            elif _PROGRAMS.fullmatch(key):
                others.add(key)
        if odd := [key for key in others if "=" in key]:
            raise GitError(
                f"the settings of {self.folder} name a program in a way that cannot be overridden: {odd[0]!r}"
            )
        return [word for key in sorted(others) for word in ("-c", f"{key}={persons.get(key, '')}")]

    def _run(
        self, arguments: tuple[str, ...], index: str, text: str | None, overrides: Sequence[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        options = self._overrides() if overrides is None else overrides
        environ = command_environment(os.environ)
        environ = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
        environ |= {name: value for name, value in _ENVIRON.items() if name not in environ}
        environ |= _identity(environ) | ({"GIT_INDEX_FILE": index} if index else {})
        try:
            return subprocess.run(  # noqa: S603  git, with arguments of ours
                [*_PREFIX, *options, "-C", self.folder, *arguments],
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                env=environ,
                check=False,
                timeout=self._seconds,
                **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}),
            )
        except FileNotFoundError:
            raise GitError("git is not installed, or not on PATH") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} took longer than {self._seconds:.0f} s in {self.folder}") from None


_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_COMMAND", "GIT_ASKPASS"})
"""The other variables of git's could make it look at another repository."""


def _identity(environ: dict[str, str]) -> dict[str, str]:
    """Return an author for checkpoints, which a machine without one can make as well."""
    return {f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in _IDENTITY.items()} | {
        "GIT_OPTIONAL_LOCKS": environ.get("GIT_OPTIONAL_LOCKS", "0")
    }
