"""What the built-in tools may touch: files below the working directory, and commands that somebody allowed."""

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
Touch = Literal["read", "write"]


class PermissionAnswer(Enum):
    """What a person says when asked."""

    ONCE = "Allow once"
    SESSION = "Allow for this session"
    NO = "Deny"


Ask = Callable[[ExtensionContext, str], Awaitable[PermissionAnswer | None]]


class PermissionDenied(ToolFailure):
    """Nobody allowed it; the words say how to."""


async def ask_person(ctx: ExtensionContext, question: str) -> PermissionAnswer | None:
    """Ask whoever watches; None when nobody does. A person who does not choose has said no."""
    if not ctx.has_ui:
        return None
    chosen = await ctx.ui.select(question, [answer.value for answer in PermissionAnswer])
    return next((answer for answer in PermissionAnswer if answer.value == chosen), PermissionAnswer.NO)


@value
class PermissionPolicy:
    """What is allowed without asking, and who is asked for the rest; without `ask`, nobody is.

    `allow` are patterns for commands, like `git *`; `*` and `bash` allow all of them. `outside` lets files be read and
    written that are not below the working directory.
    """

    allow: tuple[str, ...] = ()
    outside: bool = False
    ask: Ask | None = ask_person


class PermissionGuard:
    """A policy at work, and what people have said so far, session by session."""

    def __init__(self, policy: PermissionPolicy) -> None:
        self.policy = policy
        self._granted: dict[str, set[str]] = {}
        self._asking = asyncio.Lock()
        self._kept: set[str] = set()

    async def file(self, path: str, touch: Touch, ctx: ExtensionContext, signal: AbortSignal | None) -> str:
        """Where the path leads, links followed, if it may be touched like this.

        Raises:
            Denied: it is outside the working directory, and nobody allowed that.
            Failed: it is no path.
            Aborted: the signal said stop before anybody had answered.
        """
        real = resolved(path, ctx.cwd)
        ours = touch == "read" and real in self._kept
        if self.policy.outside or ours or is_below(real, ctx.cwd):
            return real
        question = f"{touch.capitalize()} {printable(real)}, which is outside the working directory?"
        refusal = f"{_whither(path, real)} is outside the working directory\nStart with --outside to allow it."
        await self._permitted(f"{touch} {real}", question, refusal, ctx, signal)
        return real

    async def command(self, line: str, ctx: ExtensionContext, signal: AbortSignal | None) -> None:
        """See that the command may run.

        Raises:
            Denied: a part of it may not, and nobody allowed it.
            Aborted: the signal said stop before anybody had answered.
        """
        granted = self._granted.get(ctx.conversation.id, ())
        parts = not_allowed(line, self.policy.allow, windows=WINDOWS)
        missing = tuple(part for part in parts if f"run {part}" not in granted)
        if missing:
            question = "\n".join(["Run this command?", *printable_lines(line)])
            await self._permitted(f"run {line}", question, _how_to_allow(line, missing), ctx, signal)

    def keep(self) -> tuple[BinaryIO, str]:
        """A new file, and its path: outside the working directory, but it may be read all the same."""
        descriptor, path = tempfile.mkstemp(prefix="tildone-", suffix=".log")
        real = os.path.realpath(path)
        self._kept.add(real)
        return os.fdopen(descriptor, "wb"), real

    async def _permitted(
        self, what: str, question: str, refusal: str, ctx: ExtensionContext, signal: AbortSignal | None
    ) -> None:
        answer = await unless_aborted(self._answer(what, question, ctx), signal)
        if answer is None:
            raise PermissionDenied(f"Not allowed: {refusal}")
        if answer is PermissionAnswer.NO:
            raise PermissionDenied(f"Denied by the person who was asked: {refusal}")

    async def _answer(self, what: str, question: str, ctx: ExtensionContext) -> PermissionAnswer | None:
        """One question at a time, so that an answer for the whole session spares the next one."""
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


def resolved(path: str, cwd: str) -> str:
    """Where a path leads, seen from the working directory and with every link followed.

    Raises:
        Failed: it is no path.
    """
    if not path.strip():
        raise ToolFailure("The path is empty")
    try:
        return os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{path!r} is no path: {error}") from error


def is_below(real: str, folder: str) -> bool:
    """Whether a resolved path is the folder, or in it."""
    root = os.path.normcase(os.path.realpath(folder))
    return os.path.join(os.path.normcase(real), "").startswith(os.path.join(root, ""))


def shown_path(real: str, cwd: str) -> str:
    """A resolved path as a model is told of it: short where it is in the working directory."""
    shown = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return readable(shown)


def readable(name: str) -> str:
    """A file's name as text, whatever bytes it is made of."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _whither(path: str, real: str) -> str:
    """A path as it was given, and where it leads if it does not say so itself."""
    return path if os.path.normpath(path) == real else f"{path}, which leads to {readable(real)},"


def _how_to_allow(line: str, missing: tuple[str, ...]) -> str:
    if simple_commands(line, windows=WINDOWS) is None:
        return f"{line}\nIt is not made of simple commands alone, so only --allow bash, for every command, allows it."
    flags = dict.fromkeys(f"--allow {shlex.quote(_pattern(part))}" for part in missing)
    return f"{'; '.join(missing)}\nStart with {' '.join(flags)} to allow it, or with --allow bash for every command."


def _pattern(part: str) -> str:
    """A pattern for commands like this one; a redirection has nothing like it."""
    first, _, rest = part.partition(" ")
    return part if first in "<>" or not rest else f"{first} *"


async def unless_aborted(work: Coroutine[Any, Any, T], signal: AbortSignal | None) -> T:
    """What the work gives; it is cancelled when the signal says stop.

    Raises:
        Aborted: the signal said stop.
    """
    task = asyncio.ensure_future(work)
    forget = signal.on_abort(task.cancel) if signal else lambda: None
    try:
        return await task
    except asyncio.CancelledError:
        if signal:
            signal.raise_if_aborted()
        raise
    finally:
        forget()
