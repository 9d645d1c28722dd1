"""Checks and proofs as text, for the model and for people, and tool calls as one line."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.guard import is_unproved
from tildone.plan.model import Check, Result, Status, completed_in, waits_for
from tildone.plan.text.safe import clipped, printable, safe_text, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.plan.model import Plan, Proof, Task
    from tildone.plan.reduce import Outcome


MAX_DOING = 120
MAX_READ = 1000
"""How much of a text is sanitized, so that a long command costs nothing."""

TELLING = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt")
"""The names of arguments that tell the most, the best first."""


def doing(tool: str, arguments: object = None) -> str:
    """Return a tool call as one printable line, such as `bash: pytest -q`, cut to its beginning."""
    detail = _detail(arguments) if isinstance(arguments, dict) else ""
    return clipped(printable(f"{tool}: {detail}" if detail else tool), MAX_DOING)


def _detail(arguments: dict[object, object]) -> str:
    named = (arguments.get(name) for name in TELLING)
    found = (each for each in (*named, *arguments.values()) if isinstance(each, str) and each.strip())
    return next(found, "").strip()[:MAX_READ]


MAX_LINES, MAX_CHARACTERS = 40, 2000
"""How much of the output of a failed check a model is told: the end of it."""

MAX_TASKS_LISTED = 3
MAX_TEXT = 80
_FAILED = "Check failed"
_AGAIN = "Mark a task done again"
_STALE = "Files changed since the check passed; mark it done again"
_KEPT = "it has a check; only a person can remove it"
_ALL_KEPT = "they have checks; only a person can remove them"
_UNPROVED = "Done only if its check passes"
_QUOTED = frozenset(" \t\r\n\"'\\$`&|;<>()*?[]#~!{}")


def with_results(text: str, outcome: Outcome, *, numbered: bool) -> str:
    """Return a reply with what happened to the checks of the tasks that it did not complete, one paragraph each."""
    return "\n".join([text, *results(outcome, numbered=numbered)])


def results(outcome: Outcome, *, numbered: bool) -> list[str]:
    """Return what became of the checks of tasks not completed, of that of the plan, and which tasks were kept."""
    tasks = [task for task in outcome.after.tasks if task.number in outcome.unproved]
    found = [_result(_name(task, numbered=numbered), task.proof) for task in tasks]
    plan = outcome.after
    if is_unproved(plan) and plan.proof is not None:
        found.append(_result("The plan", plan.proof))
    kept = [task for task in plan.tasks if task.number in outcome.kept]
    if kept:
        found.append(f"kept {_listed(kept, numbered)}: {_KEPT if len(kept) == 1 else _ALL_KEPT}")
    return found


def proposed_line(tasks: Sequence[Task], *, numbered: bool) -> str:
    """Say which checks that a model has set are not approved, and so not run."""
    return f"Only proposed until the user approves it: the check of {_listed(tasks, numbered)}"


def with_unproved(text: str, plan: Plan, recorded: Plan, *, numbered: bool) -> str:
    """Return a prompt about `plan` with its checks and order; what is done in the `recorded` one only is stale."""
    done = completed_in(recorded)
    active = [task for task in plan.tasks if task.check is not None and task.status is Status.IN_PROGRESS]
    stale = [task for task in active if task.number in done]
    # A list with numbers has the checks and their results.
    told = active if not numbered else []
    failed = [task for task in told if task.proof is not None and task.proof.result is Result.FAILED]
    others = [task for task in told if task not in stale and task not in failed]
    lines = [
        f"{opening}: {_listed(tasks, numbered, with_commands=not numbered)}"
        for opening, tasks in ((_FAILED, failed), (_STALE, stale), (_UNPROVED, others))
        if tasks
    ]
    if is_unproved(recorded) and recorded.check is not None:
        failing = recorded.proof is not None and recorded.proof.result is Result.FAILED
        state = "failed" if failing else "has to pass"
        lines.append(f"The check of the plan {state}: {command_quote(recorded.check)}. Then mark a task done again")
    elif recorded.check is not None and recorded.proof is not None and plan.proof is None:
        lines.append(f"Files changed since the check of the plan passed: {command_quote(recorded.check)}. {_AGAIN}")
    waiting = [] if numbered else [task for task in plan.tasks if waits_for(plan, task)]
    if waiting:
        lines.append(f"Not ready, because other tasks come first: {_listed(waiting, numbered)}")
    return "\n".join([text, *lines])


def check_text(check: Check) -> str:
    return " ".join(map(_quoted, check.command))


def check_caution(check: Check) -> str:
    """Return what a person is told before they approve a check; empty if its command is not dangerous."""
    from tildone.plan.shell.danger import caution

    return caution(check_text(check))


def command_quote(check: Check) -> str:
    """Return the command of a check as a part of a sentence: between backticks, on one line, and not too long."""
    return f"`{clipped(shown_text(check_text(check)), MAX_TEXT)}`"


def proof_words(check: Check, proof: Proof | None, *, stale: bool = False, allowed: bool = True) -> str:
    """Return the state of a check in a few words; empty if it was not run yet and may be."""
    if stale:
        return "stale"
    if proof is None or proof.command != check.command:
        return "" if allowed else "proposed"
    match proof.result:
        case Result.PASSED:
            return "stale" if proof.imported else "passed"
        case Result.FAILED:
            return "failed" if proof.exit_code is None else f"failed (exit {proof.exit_code})"
        case Result.INCONCLUSIVE:
            # The reason begins with the command, which stands beside these words.
            return f"inconclusive: {printable(proof.reason.rpartition('is inconclusive: ')[2])}"
        case Result.REFUSED:  # exhaustive
            return "proposed" if not allowed else ""


def program_words(proof: Proof) -> str:
    return f"{proof.program} (sha256 {proof.program_sha256 or 'not known'})" if proof.program else ""


def output_end(output: str) -> str:
    text = "\n".join(output.rstrip().splitlines()[-MAX_LINES:])
    return text if len(text) <= MAX_CHARACTERS else "…" + text[-MAX_CHARACTERS + 1 :]


def _result(name: str, proof: Proof | None) -> str:
    if proof is None:
        return f"{name} is not done: its check was not run"
    if proof.result is Result.REFUSED:
        return (
            f"{name} waits for a person to approve its check {command_quote(Check(proof.command))}. Go on with the rest"
        )
    reason = shown_text(proof.reason) if proof.reason else f"its check {proof.result.value}"
    if proof.result.blocks:
        return f"{name} waits for a person: {reason}. Go on with the rest"
    return "\n".join([f"{name} is not done: {reason}", *_tail(proof)])


def _tail(proof: Proof) -> list[str]:
    """The end of the output, and where the whole of it is if that is not all."""
    if not proof.tail:
        return []
    is_cut = proof.tail.startswith("…") or proof.tail.count("\n") + 1 >= MAX_LINES
    return [safe_text(proof.tail), *([f"(all of it: {shown_text(proof.output)})"] if is_cut and proof.output else [])]


def _listed(tasks: Sequence[Task], numbered: bool, *, with_commands: bool = True) -> str:  # noqa: FBT001  of one caller
    names = [
        _name(task, numbered=numbered)
        + (f" ({command_quote(task.check)})" if task.check is not None and with_commands else "")
        for task in tasks[:MAX_TASKS_LISTED]
    ]
    more = f" and {len(tasks) - MAX_TASKS_LISTED} more" if len(tasks) > MAX_TASKS_LISTED else ""
    return ", ".join(names) + more


def _name(task: Task, *, numbered: bool) -> str:
    return str(task.number) if numbered else f"“{clipped(shown_text(task.text), MAX_TEXT)}”"


def _quoted(word: str) -> str:
    if word and not _QUOTED & set(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def waiting_notice(plan: Plan) -> str:
    """Return which tasks wait for a person because of their checks, and what to type; empty if none does."""
    notices = list(_notices(plan))
    more = f"; {len(notices) - MAX_TASKS_LISTED} more wait, too" if len(notices) > MAX_TASKS_LISTED else ""
    return f"tildone: {'; '.join(notices[:MAX_TASKS_LISTED])}{more}" if notices else ""


def undone_text(outcome: Outcome) -> str:
    """Return why tasks are not done, or not gone, although a list of the model says so; empty if there are none."""
    if not (outcome.unproved or outcome.kept):
        return ""
    text = with_results("In your plan:", outcome, numbered=False)
    tasks = [task for task in outcome.after.tasks if task.number in outcome.unproved]
    not_run = " ".join(str(task.number) for task in tasks if task.proof is None)
    return (
        f"{text}\nThe check takes longer than can be waited for here. Run: tildone verify {not_run}"
        if not_run
        else text
    )


def _notices(plan: Plan) -> Iterator[str]:
    for task in plan.tasks:
        if task.status is Status.BLOCKED and task.check is not None and task.proof is not None:
            yield from _notice(f"task {task.number}", str(task.number), task.check, task.proof)
    if plan.check is not None and plan.proof is not None and is_unproved(plan):
        yield from _notice("the plan", "", plan.check, plan.proof)


def _notice(name: str, number: str, check: Check, proof: Proof) -> Iterator[str]:
    argument = f" {number}" if number else ""
    if proof.result is Result.INCONCLUSIVE:
        yield f"{name} waits for you: {printable(proof.reason)}. To run its check: tildone verify{argument}"
    elif proof.result is Result.REFUSED:
        proposed = f"its check, `{printable(check_text(check))}`, is only proposed"
        yield f"{name} waits for you: {proposed}. To approve it: tildone approve{argument}"
