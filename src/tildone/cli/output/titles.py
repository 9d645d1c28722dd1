"""What several verbs show in the same way: agents, findings, progress, and sessions by their titles."""

from __future__ import annotations

import sys
from time import monotonic

from tildone.app.sessions import SHORT_ID_CHARACTERS, is_id, title_of
from tildone.base import TYPE_CHECKING, StoreDamaged, UsageError, value
from tildone.cli.output import columns, max_columns, on_terminal
from tildone.log.kept import Finding, Severity
from tildone.plan.events import latest_state
from tildone.plan.model import progress
from tildone.plan.text.safe import printable, short_agent
from tildone.plan.text.styles import Role, Span, clip_line, clip_text, wrap_text

if TYPE_CHECKING:
    from typing import Self

    from tildone.app.plan_agents import PlanAgents, SharingAgent, SubagentList
    from tildone.log.store import Store
    from tildone.plan.events import SessionInfo
    from tildone.plan.model import Plan

    Line = tuple[Span, ...]


def sharing_lines(found: PlanAgents, columns: int | None) -> list[Line]:
    """Who shares the plan, and the lists of subagents: one line each."""
    texts = [subagent_line(each) for each in found.subagents]
    if found.shared:
        names = ", ".join(_with_tasks(each) for each in found.agents)
        texts = [f"shared by {names}" if names else "shared by all agents here", *texts]
    lines = [(Span(text, Role.MUTED),) for text in texts]
    return [line if columns is None else clip_line(line, columns) for line in lines]


def subagent_line(found: SubagentList) -> str:
    done, ended = progress(found.plan), found.subagent.ended is not None
    return f"subagent {printable(found.subagent.name)}: {done.closed}/{done.total}{' (ended)' if ended else ''}"


def sharing_data(found: PlanAgents) -> dict[str, object]:
    """The same as JSON; nothing for a plan that is not shared and has no subagents."""
    data: dict[str, object] = {}
    if found.shared:
        data["shared_by"] = [{"agent": str(each.agent.id), "tasks": list(each.tasks)} for each in found.agents]
    if found.subagents:
        data["subagents"] = [
            {
                "name": each.subagent.name,
                "session": each.subagent.agent.session,
                "closed": progress(each.plan).closed,
                "total": progress(each.plan).total,
                "ended": each.subagent.ended,
            }
            for each in found.subagents
        ]
    return data


def _with_tasks(sharing: SharingAgent) -> str:
    tasks = " ".join(f"#{number}" for number in sharing.tasks)
    return short_agent(str(sharing.agent.id)) + (f" ({tasks})" if tasks else "")


SIGNS = {Severity.OK: ("✓", Role.SUCCESS), Severity.WARNING: ("!", Role.WARNING), Severity.ERROR: ("✗", Role.ERROR)}
MIN_COLUMNS = 20


def finding_lines(finding: Finding, before: Finding | None = None) -> list[Line]:
    """A finding, and below it the remedy unless the finding before has the same."""
    sign, role = SIGNS[finding.severity]
    room = max(MIN_COLUMNS, max_columns() - 4)
    first, *rest = wrap_text(printable(finding.what), room)
    lines = [(Span("  "), Span(sign, role), Span(f" {first}")), *((Span(f"    {line}"),) for line in rest)]
    if finding.remedy and (before is None or before.remedy != finding.remedy):
        first, *rest = wrap_text(printable(finding.remedy), room - 2)
        lines += [(Span(f"    → {first}", Role.ACCENT),), *((Span(f"      {line}", Role.ACCENT),) for line in rest)]
    return lines


REDRAW_SECONDS = 0.1


class ProgressLine:
    """A callable for `(what, done, total)`. It redraws at most once per interval, and clears the line on exit."""

    def __init__(self) -> None:
        self._is_terminal = on_terminal(sys.stderr)
        # Work that ends within the first interval shows no progress.
        self._next_redraw = monotonic() + REDRAW_SECONDS
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __call__(self, what: str, done: int, total: int, noun: str = "events") -> None:
        """Redraw the line unless it was drawn within the last interval."""
        if not self._is_terminal or monotonic() < self._next_redraw:
            return
        self._next_redraw = monotonic() + REDRAW_SECONDS
        part = f"{100 * done // total} %, " if total else ""
        self.say(f"{what}: {part}{done:,} of {total:,} {noun}")

    def say(self, text: str) -> None:
        """Show a text at once, for work whose progress cannot be measured."""
        if self._is_terminal:
            shown = clip_text(text, (columns(sys.stderr) or 80) - 1)
            sys.stderr.write(f"\r{shown.ljust(self._drawn)}")
            sys.stderr.flush()
            self._drawn = len(shown)

    def clear(self) -> None:
        """Clear the line, so that other output can follow."""
        self._next_redraw = monotonic() + REDRAW_SECONDS
        if self._drawn:
            sys.stderr.write(f"\r{' ' * self._drawn}\r")
            sys.stderr.flush()
            self._drawn = 0


MAX_LISTED = 3
MIN_PREFIX_CHARACTERS = 4
"""The beginning of a name or a title means a session if it has this many characters."""


@value
class TitledSession:
    info: SessionInfo
    plan: Plan
    title: str

    @property
    def short_name(self) -> str:
        """The name to show beside the title: an id is shortened; empty if the title says it all."""
        name = self.info.name
        shown = name[:SHORT_ID_CHARACTERS] if is_id(name) else name
        return "" if shown == self.title else shown


def titled_sessions(store: Store, damaged: list[str] | None = None) -> list[TitledSession]:
    """The sessions of a store that can be read, the last changed first; `damaged` is told about the others."""
    found: list[TitledSession] = []
    for info in store.sessions():
        try:
            plan = latest_state(store.history(info.name)).plan
        except StoreDamaged as error:
            if damaged is not None:
                damaged.append(f"session {info.name!r}: {error}")
        else:
            found.append(TitledSession(info, plan, title_of(info, plan)))
    return found


def session_meant(given: str, store: Store) -> str:
    """The name of the session that a person means: by its name, its title, or the beginning of either.

    If no session is meant, `given` names a new one.
    """
    word = given.casefold()
    found = titled_sessions(store)
    for matches in (
        [each for each in found if each.info.name == given],
        [each for each in found if each.title.casefold() == word],
        [
            each
            for each in found
            if len(word) >= MIN_PREFIX_CHARACTERS
            and (each.info.name.casefold().startswith(word) or each.title.casefold().startswith(word))
        ],
    ):
        if len(matches) > 1:
            names = "; ".join(printable(each.info.name) for each in matches[:MAX_LISTED])
            more = f" and {len(matches) - MAX_LISTED} more" if len(matches) > MAX_LISTED else ""
            raise UsageError(f"--session {given!r} may mean several sessions: {names}{more}; give more of the name")
        if matches:
            return matches[0].info.name
    return given
