"""Permissions of the built-in tools: files below the working directory, and allowed commands.

Paths are resolved with all symbolic links before they are checked, so a link cannot lead out of the working directory.
A command line is split into simple commands (`shell_syntax`), and every one of them must be allowed. For anything else
the person is asked; without a UI it is refused. This protects against mistakes of a model. It is not a sandbox: an
allowed command runs with the person's own rights.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, BinaryIO, Literal, TypeVar

from tildone.host.extension_context import ExtensionContext
from tildone.host.tools.shell_syntax import WINDOWS, not_allowed, simple_commands
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.signal import AbortSignal
from tildone.value import value
from tildone.views.sanitize import printable, printable_lines

T = TypeVar("T")
Access = Literal["read", "write"]


class PermissionAnswer(Enum):
    """The answers to a permission question."""

    ONCE = "Allow once"
    SESSION = "Allow for this session"
    NO = "Deny"


Ask = Callable[[ExtensionContext, str], Awaitable[PermissionAnswer | None]]


class PermissionDenied(ToolFailure):
    """The policy or the person did not allow the call; the message tells how to allow it."""


async def ask_person(ctx: ExtensionContext, question: str) -> PermissionAnswer | None:
    """Ask the person, and return None if there is no UI. Declining the question counts as no."""
    if not ctx.has_ui:
        return None
    chosen = await ctx.ui.select(question, [answer.value for answer in PermissionAnswer])
    return next((answer for answer in PermissionAnswer if answer.value == chosen), PermissionAnswer.NO)


@value
class PermissionPolicy:
    """What is allowed without asking, and how to ask for the rest; if `ask` is None, the rest is refused.

    `allow` contains patterns for commands, like `git *`; `*` and `bash` allow all commands. `outside` allows files
    outside the working directory.
    """

    allow: tuple[str, ...] = ()
    outside: bool = False
    ask: Ask | None = ask_person


class PermissionGuard:
    """A policy, and what the person has allowed so far in each conversation."""

    def __init__(self, policy: PermissionPolicy) -> None:
        self.policy = policy
        self._granted: dict[str, set[str]] = {}
        self._asking = asyncio.Lock()
        self._output_files: set[str] = set()

    async def file(self, path: str, access: Access, ctx: ExtensionContext, signal: AbortSignal | None) -> str:
        """Return the resolved path, if it may be accessed.

        Raises:
            PermissionDenied: it is outside the working directory, and that is not allowed.
            ToolFailure: it is not a valid path.
            Aborted: the signal was set before the person answered.
        """
        real = resolve_path(path, ctx.cwd)
        is_own_output = access == "read" and real in self._output_files
        if self.policy.outside or is_own_output or is_below(real, ctx.cwd):
            return real
        question = f"{access.capitalize()} {printable(real)}, which is outside the working directory?"
        refusal = f"{_with_target(path, real)} is outside the working directory\nStart with --outside to allow it."
        await self._require_permission(f"{access} {real}", question, refusal, ctx, signal)
        return real

    async def command(self, line: str, ctx: ExtensionContext, signal: AbortSignal | None) -> None:
        """Check that the command may run.

        Raises:
            PermissionDenied: a part of it is not allowed.
            Aborted: the signal was set before the person answered.
        """
        granted = self._granted.get(ctx.conversation.id, ())
        parts = not_allowed(line, self.policy.allow, windows=WINDOWS)
        missing = tuple(part for part in parts if f"run {part}" not in granted)
        if missing:
            question = "\n".join(["Run this command?", *printable_lines(line)])
            await self._require_permission(f"run {line}", question, _how_to_allow(line, missing), ctx, signal)

    def create_output_file(self) -> tuple[BinaryIO, str]:
        """Create a temporary file for output, and return it and its path. The tools may read it."""
        descriptor, path = tempfile.mkstemp(prefix="tildone-", suffix=".log")
        real = os.path.realpath(path)
        self._output_files.add(real)
        return os.fdopen(descriptor, "wb"), real

    async def _require_permission(
        self, what: str, question: str, refusal: str, ctx: ExtensionContext, signal: AbortSignal | None
    ) -> None:
        answer = await unless_aborted(self._answer(what, question, ctx), signal)
        if answer is None:
            raise PermissionDenied(f"Not allowed: {refusal}")
        if answer is PermissionAnswer.NO:
            raise PermissionDenied(f"Denied by the person who was asked: {refusal}")

    async def _answer(self, what: str, question: str, ctx: ExtensionContext) -> PermissionAnswer | None:
        """Ask the person, one question at a time: an answer for the whole conversation may settle the next question."""
        async with self._asking:
            granted = self._granted.setdefault(ctx.conversation.id, set())
            if what in granted:
                return PermissionAnswer.SESSION
            if self.policy.ask is None:
                return None
            answer = await self.policy.ask(ctx, question)
            if answer is PermissionAnswer.SESSION:
                granted.add(what)
            return answer


def resolve_path(path: str, cwd: str) -> str:
    """Return the absolute path, relative to the working directory, with all symbolic links resolved.

    Raises:
        ToolFailure: it is not a valid path.
    """
    if not path.strip():
        raise ToolFailure("The path is empty")
    try:
        return os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{path!r} is no path: {error}") from error


def is_below(real: str, folder: str) -> bool:
    """Return whether a resolved path is the folder itself or inside it."""
    root = os.path.normcase(os.path.realpath(folder))
    return os.path.join(os.path.normcase(real), "").startswith(os.path.join(root, ""))


def display_path(real: str, cwd: str) -> str:
    """Return a resolved path as it is shown to a model: relative if it is in the working directory."""
    shown = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return decodable_name(shown)


def decodable_name(name: str) -> str:
    """Return a file name as valid text, with undecodable bytes replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _with_target(path: str, real: str) -> str:
    """Return a path as it was given, with its target if that differs."""
    return path if os.path.normpath(path) == real else f"{path}, which leads to {decodable_name(real)},"


def _how_to_allow(line: str, missing: tuple[str, ...]) -> str:
    if simple_commands(line, windows=WINDOWS) is None:
        return f"{line}\nIt is not made of simple commands alone, so only --allow bash, for every command, allows it."
    flags = dict.fromkeys(f"--allow {shlex.quote(_pattern(part))}" for part in missing)
    return f"{'; '.join(missing)}\nStart with {' '.join(flags)} to allow it, or with --allow bash for every command."


def _pattern(part: str) -> str:
    """Return a pattern for commands like this one; a redirection matches only itself."""
    first, _, rest = part.partition(" ")
    return part if first in "<>" or not rest else f"{first} *"


async def unless_aborted(work: Coroutine[Any, Any, T], signal: AbortSignal | None) -> T:
    """Return the result of `work`, which is cancelled when the signal is set.

    Raises:
        Aborted: the signal was set.
    """
    task = asyncio.ensure_future(work)
    unsubscribe = signal.on_abort(task.cancel) if signal else lambda: None
    try:
        return await task
    except asyncio.CancelledError:
        if signal:
            signal.raise_if_aborted()
        raise
    finally:
        unsubscribe()
