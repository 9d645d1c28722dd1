"""Telling the person that tildone does not work, once in each conversation; the agent goes on without it.

Coding agents hide what a hook writes to standard error, so the person is told in the agent's own way: by a notice in
the reply, or in the status line. If an agent runs without anybody watching and shows no notices then, they are kept for
the end of its session, when it does show the error of a hook.
"""

from __future__ import annotations

import errno
import os

from tildone.agents.identity import digest
from tildone.hooks.remembered import Remembered
from tildone.hooks.reply import HookReply, can_reply, rendered
from tildone.integrations.record import HookPoint, ReplyKind
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.hooks.event import HookEvent

PENDING = "pending"
"""The name of a notice that is kept for the end of the session."""

EXIT_CODE_WITH_NOTICE = 2
"""With which an agent prints the standard error of a hook at the end of a session."""

FULL_DISK = ("the disk is full", os.strerror(errno.ENOSPC))
"""How errors of stores and of other files say that the disk is full."""

SILENT_POINTS = (HookPoint.SESSION_END, HookPoint.CALL_TOOL, HookPoint.OFFER_TOOLS, HookPoint.UNDELIVERED)
"""The points at which an agent shows no notice."""


def trouble_reply(event: HookEvent, pid: int, problem: str) -> str:
    """Return the reply that tells the person of a problem; empty if they know of it or cannot be told now."""
    if event.point is HookPoint.STATUS_LINE:
        return f"tildone does not work: {problem}\n"
    notice = f"tildone does not work, and the agent goes on without it: {problem}. To check: tildone doctor"
    return notice_once(event, pid, notice, _kind(problem))


def notice_once(event: HookEvent, pid: int, notice: str, kind: str = "") -> str:
    """Return the reply that gives the person a notice; empty if they had one of this kind or cannot be told now."""
    if event.point in (*SILENT_POINTS, HookPoint.STATUS_LINE) or not can_reply(event, ReplyKind.NOTIFY):
        return ""
    remembered = _remembered(event, pid)
    is_new = None if remembered is None else remembered.is_new(f"told-{kind or digest(notice)}")
    # What cannot be remembered is told when the session starts, which happens once.
    if is_new is False or (is_new is None and event.point is not HookPoint.SESSION_START):
        return ""
    postpone_notice(event, pid, notice)
    return rendered(event, HookReply(ReplyKind.NOTIFY, notice))


def postpone_notice(event: HookEvent, pid: int, notice: str) -> None:
    """Postpone a notice to the end of the session, if the agent shows it to nobody now."""
    remembered = _remembered(event, pid)
    if event.is_unattended and remembered is not None:
        remembered.leave(PENDING, notice)


def postponed_notice(event: HookEvent, pid: int) -> str:
    """Return the notice that was postponed to the end of the session, which this is; empty if there is none."""
    remembered = _remembered(event, pid)
    return remembered.take(PENDING) if remembered is not None else ""


def _remembered(event: HookEvent, pid: int) -> Remembered | None:
    agent_id = event.agent_id(pid)
    return None if agent_id.is_unknown else Remembered(event.environ, agent_id)


def _kind(problem: str) -> str:
    """Return what is the same whenever a problem occurs: its text without numbers, such as that of a process.

    A full disk is one problem, whichever file could not be written.
    """
    if any(text in problem for text in FULL_DISK):
        return "full-disk"
    return digest("".join(letter for letter in problem if not letter.isdecimal()))
