"""`tildone` alone: where this project stands, and the next sensible commands."""

import os

from tildone.app.check_states import CheckFacts, check_facts
from tildone.base import StoreError
from tildone.cli.agents.steering import agent_line, agents_and_sessions
from tildone.cli.opening import open_to_read, settings_for, with_session
from tildone.cli.output import max_columns, put
from tildone.cli.table import ParsedArgs
from tildone.plan.events import Directive, State
from tildone.plan.guard import is_unproved
from tildone.plan.model import Plan, Status, next_task, open_tasks, progress
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import clip_text

HELD = {Directive.PAUSE: "Agents are paused", Directive.STOP: "Agents are stopped"}
MAX_AGENTS_LISTED = 5

NO_PLAN = (
    ('tildone todo add "TASK"', "add a task"),
    ('tildone run "TASK"', "let a model plan and work"),
    ("tildone install", "connect a coding agent"),
    ("tildone --help", "all commands"),
)
OPEN_TASKS = (
    ("tildone todo", "show the plan"),
    ("tildone todo done {number}", "when it is done"),
    ("tildone run", "let an agent work through it"),
    ("tildone --help", "all commands"),
)
ALL_CLOSED = (
    ("tildone log", "what happened"),
    ('tildone todo add "TASK"', "add a task"),
    ("tildone --help", "all commands"),
)


def run(args: ParsedArgs) -> int:
    settings = settings_for(args)
    try:
        store = open_to_read(settings)
        settings = with_session(args, settings, store)
        agents, sessions = agents_and_sessions(settings, store)
        states = {session.name: session.state for session in sessions}
    except StoreError as error:
        raise type(error)(f"{error}\nto check the store: tildone doctor") from error
    state = states[settings.session]
    session = next(each for each in sessions if each.name == settings.session)
    checks = check_facts(session, state.plan)
    _put_clipped(f"{_project(settings.session)}: {_progress(state.plan, checks)}")
    aside = [f"Needs you: {session.held_up}"] if session.held_up else []
    for line in (*aside, *_next_lines(state), *_check_lines(state.plan, checks)):
        _put_clipped(line)
    if agents:
        put(f"{format_count(len(agents), 'agent')} at work:")
    for agent in agents[:MAX_AGENTS_LISTED]:
        _put_clipped(agent_line(settings, agent, states[agent.session]))
    if len(agents) > MAX_AGENTS_LISTED:
        put(f"  and {len(agents) - MAX_AGENTS_LISTED} more")
    put("")
    upcoming = next_task(state.plan)
    rows = NO_PLAN if not state.plan.tasks else ALL_CLOSED if upcoming is None else OPEN_TASKS
    commands = [(words.format(number=upcoming[1].number if upcoming else 0), meaning) for words, meaning in rows]
    width = max(len(words) for words, _ in commands)
    for words, meaning in commands:
        line = f"  {words.ljust(width)}  {meaning}"
        put(line if len(line) <= max_columns() else f"  {words}")
    return 0


def _project(session: str) -> str:
    """The name of the project's folder, with the folder above it, or the name of another session."""
    if not os.path.isabs(session):
        return printable(session)
    home = os.path.expanduser("~")
    inside = session == home or session.startswith(home + os.sep)
    return printable(f"~{session.removeprefix(home)}" if inside and home != os.sep else session)


def _progress(plan: Plan, checks: CheckFacts) -> str:
    counts = progress(plan)
    if not counts.total:
        return "no plan yet"
    is_proved = not checks.stale and not is_unproved(plan)
    return "all done" if counts.finished and is_proved else f"{counts.closed} of {counts.total} tasks closed"


def _check_lines(plan: Plan, checks: CheckFacts) -> list[str]:
    stale = [f"#{number}" if number else "the plan" for number in sorted(checks.stale)]
    lines = [f"Stale: {', '.join(stale)}; to check again: tildone verify"] if stale else []
    if is_unproved(plan):
        lines.append("The check of the plan has not passed; to run it: tildone verify")
    if checks.proposed:
        lines.append(f"Proposed: {format_count(len(checks.proposed), 'check')}; to see and approve: tildone approve")
    return lines


def _next_lines(state: State) -> list[str]:
    """The next task, or why there is none although tasks are open; and a directive that holds agents."""
    lines = []
    upcoming = next_task(state.plan)
    if upcoming is not None:
        word = "In progress" if upcoming[1].status is Status.IN_PROGRESS else "Next"
        lines.append(f"{word}: #{upcoming[1].number} {printable(upcoming[1].text)}")
    elif waiting := open_tasks(state.plan):
        lines.append(f"Blocked: {format_count(len(waiting), 'task')}; nothing can be worked on now")
    if state.directive in HELD:
        lines.append(f"{HELD[state.directive]}; to resume: tildone resume")
    return lines


def _put_clipped(line: str) -> None:
    put(clip_text(line, max_columns()))
