"""The results of runs as data, as lines of a terminal, as Markdown, and as the message of a commit.

Texts of tasks, agents and plans are data of others: here they cannot add lines, headings or markup.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from tildone.app.answering import CONFLICT, OpenQuestion, offered_answers
from tildone.app.run_results import DONE, GROUPS, NEEDS, OVER, QUEUED, RUNNING, RunResult
from tildone.app.runs import schedule_of
from tildone.base.ids import timestamp
from tildone.plan.events import Event
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.history.timeline import rows_lines, timeline
from tildone.plan.model import Status, Task, progress
from tildone.plan.names import branch_of, is_address, is_commit
from tildone.plan.runs import CommandRefused, LeaseState
from tildone.plan.text.amounts import SEPARATOR, format_count, format_duration, usage_text
from tildone.plan.text.proofs import check_text, proof_words
from tildone.plan.text.safe import clipped, printable, printable_lines, safe_text, single_line
from tildone.plan.text.state import counted, run_word
from tildone.plan.text.styles import Line, Role, Span, clip_text

MAX_TITLE, MAX_WHY, MAX_TASKS = 72, 6, 200
"""How long the subject of a commit may be, how many lines of a reason are shown, and how many tasks are listed."""

GROUP_WORDS = {NEEDS: "needs you", DONE: "done", RUNNING: "working", QUEUED: "queued", OVER: "over"}
_SIGNS = {
    NEEDS: ("!", Role.WARNING),
    DONE: ("✓", Role.SUCCESS),
    RUNNING: ("●", Role.ACCENT),
    QUEUED: ("·", Role.DIM),
    OVER: ("■", Role.DIM),
}
_BOXES = {Status.COMPLETED: "x", Status.ABANDONED: "-", Status.BLOCKED: "!", Status.IN_PROGRESS: "/"}


def titled(result: RunResult) -> str:
    return printable(clipped(single_line(result.title), MAX_TITLE))


def diffstat(result: RunResult) -> str:
    """Return how much the branch of a run has changed: `3 files +20 −4`; empty if it has none."""
    end = result.end
    return f"{format_count(end.files, 'file')} +{end.added:,} −{end.removed:,}" if end and end.commit else ""


def checks_of(result: RunResult) -> list[tuple[str, str]]:
    """Return the commands of the checks of a plan, each with its result."""
    plan = result.plan
    checked = [(task.check, task.proof) for task in plan.tasks] + [(plan.check, plan.proof)]
    return [
        (check_text(check), proof_words(check, proof) or "not run") for check, proof in checked if check is not None
    ]


def _checks_passed(result: RunResult) -> str:
    found = [words for _, words in checks_of(result)]
    return f"{sum(words == 'passed' for words in found)} of {format_count(len(found), 'check')} passed" if found else ""


def facts_of(result: RunResult) -> str:
    """Return a run in a few words: how many tasks are closed, its branch, time, cost and checks."""
    counts, usage = progress(result.plan), result.usage
    took = usage_text(None, usage.tokens, usage.cost)
    parts = [
        f"{counts.closed}/{counts.total}",
        diffstat(result),
        format_duration(result.worked) if result.worked else "",
        took,
        _checks_passed(result),
    ]
    return SEPARATOR.join(part for part in parts if part)


def reasons(result: RunResult) -> list[str]:
    """Return why a run stands as it does: what it asks, what it was refused, and the last lines of a failure."""
    asked = [
        f"asks: {line}"
        for question in result.questions
        for line in (question.text or "a question").splitlines()[:MAX_WHY]
    ]
    first, *rest = result.why.splitlines() or [""]
    failed = result.state == LeaseState.FAILED.value
    why = [first, *rest[-MAX_WHY:]] if failed else [first] if result.group in (OVER, DONE, QUEUED) else []
    return [*asked, *filter(None, why), *map(refusal_text, result.refused)]


def refusal_text(fact: CommandRefused) -> str:
    by = f" by {fact.by}" if fact.by else ""
    return f"refused{by}: {fact.text}{f' ({fact.why})' if fact.why else ''}"


def actions_of(result: RunResult) -> dict[str, str]:
    """Return what a person can do next with a run, by name, as commands."""
    run, repo, end = result.run, result.leases[0].work.repo, result.end
    found: dict[str, str] = {}
    # Whoever can write to the store can forge a commit, which a person would type here.
    has_branch = end is not None and is_commit(end.commit) and bool(end.files or not end.base)
    git, tip = f"git -C {shlex.quote(repo)}" if repo else "git", branch_of(run)
    if is_address(repo):
        git, tip = f"git fetch {shlex.quote(repo)} {tip} && git", "FETCH_HEAD"
    if end is not None and has_branch:
        found["diff"] = f"{git} diff {end.base[:12]}..{tip}" if is_commit(end.base) else f"{git} log {tip}"
    if any(lease.epoch for lease in result.leases):
        found["transcript"] = f"tildone fleet transcript {run}"
    if any(question.is_permission for question in result.questions):
        found["approve"] = f"tildone fleet approve {run}"
    for question in result.questions:
        if question.kind == CONFLICT:
            found |= {word: f"tildone fleet answer {run} {word}" for word in offered_answers(question)}
        elif not question.is_permission:
            found["answer"] = f"tildone fleet answer {run}"
    if result.state == LeaseState.FAILED.value:
        found["retry"] = f"tildone fleet retry {run}"
    if end is not None and has_branch and end.state is LeaseState.DONE:
        found["merge"] = f"{git} merge {tip}"
    return found


def result_data(result: RunResult) -> dict[str, object]:
    counts, end = progress(result.plan), result.end
    changed = (
        {
            "branch": branch_of(result.run),
            "commit": end.commit,
            "base": end.base or None,
            "files": end.files,
            "added": end.added,
            "removed": end.removed,
        }
        if end and end.commit
        else {}
    )
    return {
        "run": result.run,
        "title": titled(result),
        "state": result.state,
        "why": "\n".join(reasons(result)) or None,
        "session": result.leases[0].session,
        "agent": result.leases[0].work.agent,
        "hands": len(result.leases),
        "closed": counts.closed,
        "total": counts.total,
        "since": timestamp(result.since),
        "worked_ms": result.worked,
        "tokens": result.usage.tokens,
        "cost": result.usage.cost,
        "checks": [{"command": command, "result": words} for command, words in checks_of(result)],
        "refused": [{"text": fact.text, "why": fact.why or None, "by": fact.by or None} for fact in result.refused],
        "questions": [question_data(question) for question in result.questions],
        **changed,
        "schedule": schedule_of(result.run) or None,
        "earlier": result.again,
        "commands": actions_of(result),
    }


def question_data(question: OpenQuestion) -> dict[str, object]:
    return {"run": question.run, "id": question.id, "kind": question.kind, "text": question.text}


def results_data(groups: Mapping[str, Sequence[RunResult]]) -> dict[str, object]:
    return {group: [result_data(result) for result in groups[group]] for group in GROUPS}


def counts_text(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """Return how many runs are in each group: `3 need you, 88 done`."""
    return ", ".join(counted(len(groups[group]), GROUP_WORDS[group]) for group in GROUPS if groups[group])


def _named(result: RunResult) -> str:
    again = f" and {format_count(result.again, 'run')} before" if result.again else ""
    return f"{printable(result.run)}{again}"


def word_of(result: RunResult) -> str:
    """Return the state of a run in a word; empty if its group says the same."""
    word = run_word(result.state)
    return "" if word == GROUP_WORDS.get(result.group) else word


def result_lines(groups: Mapping[str, Sequence[RunResult]], columns: int) -> Iterator[Line]:
    """Yield the results for a terminal: what needs a person with what to type, the others with their differences."""
    for group in (each for each in GROUPS if groups[each]):
        sign, role = _SIGNS[group]
        yield (Span(f"{GROUP_WORDS[group].capitalize()} ({len(groups[group]):,})", bold=True),)
        for result in groups[group]:
            state = f"  {word}" if (word := word_of(result)) else ""
            head = clip_text(titled(result), max(1, columns - len(sign) - len(state) - 1))
            yield (Span(f"{sign} ", role), Span(head), Span(state, role))
            yield (Span(clip_text(f"  {_named(result)}{SEPARATOR}{facts_of(result)}", columns), Role.DIM),)
            for reason in reasons(result):
                yield (Span(clip_text(f"    {printable(reason)}", columns)),)
            for name, command in actions_of(result).items():
                if group != NEEDS and name != "diff":
                    continue
                yield (Span(f"    {name + ':':<12}", Role.DIM), Span(printable(command)))
        yield ()


def results_markdown(groups: Mapping[str, Sequence[RunResult]], title: str) -> str:
    """Return the results as a Markdown text."""
    lines = [f"# {title}", "", counts_text(groups) or "no runs", ""]
    for group in (each for each in GROUPS if groups[each]):
        lines += [f"## {GROUP_WORDS[group].capitalize()}", ""]
        for result in groups[group]:
            facts = ", ".join(filter(None, (word_of(result), facts_of(result))))
            lines += [f"- **{_plain(titled(result))}** ({_plain(_named(result))}): {facts}"]
            lines += [f"  - {_plain(reason)}" for reason in reasons(result)]
            lines += [f"  - {name}: {_code(command)}" for name, command in actions_of(result).items()]
        lines += [""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return a text of others for a line of Markdown, without markup."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#+!|~&" else char for char in printable(safe_text(text)))


def _code(text: str) -> str:
    return f"`{printable(text).replace('`', chr(0x2BC))}`"


def commit_message(result: RunResult) -> str:
    """Return the message of the commit of a run: its title, then tasks, checks, time and cost."""
    tasks = result.plan.tasks
    listed = [f"- [{_BOXES.get(task.status, ' ')}] {_line(task.text)}{_check(task)}" for task in tasks[:MAX_TASKS]]
    more = [f"- and {len(tasks) - MAX_TASKS:,} more"] if len(tasks) > MAX_TASKS else []
    usage = result.usage
    took = [f"Duration: {format_duration(result.worked)}"] if result.worked else []
    took += [f"Cost: {usage_text(None, usage.tokens, usage.cost)}"] if usage.is_known else []
    return "\n".join([_line(titled(result)), "", *listed, *more, "", *took, f"Run: {result.run}"])


def _check(task: Task) -> str:
    if task.check is None:
        return ""
    return f" ({_line(check_text(task.check))}: {proof_words(task.check, task.proof) or 'not run'})"


def _line(text: str) -> str:
    """Return a text of others for a line of a message, which begins nothing else there."""
    return printable(clipped(single_line(text), 200)).lstrip("#- ") or "a run"


def run_report(result: RunResult, events: Sequence[Event], head: str | None) -> str:
    """Return the report of a run as Markdown, with the log of its plan. `events` are all of them, oldest first."""
    lease, work, end = result.leases[0], result.leases[0].work, result.end
    lines = [f"# {_plain(titled(result))}", "", f"- Run: {_code(lease.run)}", f"- Queued: {timestamp(lease.made)}"]
    for each in result.leases:
        name = f"Hand {each.hand + 1}" if len(result.leases) > 1 else "State"
        lines.append(f"- {name}: {run_word(each.state.value)}, since {timestamp(each.since)}")
    lines.append(f"- Result: {facts_of(result)}")
    branch = f"{branch_of(lease.run)} at {end.commit}" if end and end.commit else ""
    named = (
        ("Branch", branch),
        ("Agent", work.agent),
        ("Model", work.model),
        ("Repository", work.repo),
        ("Plan", lease.session),
    )
    lines += [f"- {name}: {_code(text)}" for name, text in named if text]
    lines += [f"- {_plain(reason)}" for reason in reasons(result)]
    lines += ["", "## Plan", "", lossless_checklist(result.plan, escaped=True), "## Log", ""]
    for row in rows_lines(timeline(events, head, timestamp)):
        lines += [f"    {line}" for line in printable_lines("".join(str(getattr(span, "text", span)) for span in row))]
    return "\n".join(lines).rstrip() + "\n"
