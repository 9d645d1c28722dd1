"""What a run leaves behind: checkpoints, its branch, notes about what could not be merged, and a report in Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tildone.base import RunFenced, TildoneError, replace
from tildone.base.files import replace_file
from tildone.base.ids import now, timestamp
from tildone.base.private import make_private_folder, path_of
from tildone.fleet.endings import MAX_LINES, RunEnding, not_published, with_output
from tildone.fleet.git import GitError
from tildone.fleet.handover import last_lines
from tildone.fleet.permissions import CHECK, RunAsker
from tildone.fleet.worksite import WorkSite
from tildone.fleet.workspaces import Workspace
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Event, latest_state
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.history.requests import rows_lines
from tildone.plan.history.timeline import timeline
from tildone.plan.model import Check, Plan, Proof, Result, Status
from tildone.plan.names import FileName
from tildone.plan.ops import Mark, Note, Numbered
from tildone.plan.runs import Lease, LeaseState, WorkOutcome
from tildone.plan.text.proofs import check_text
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable, printable_lines


def run_report(hands: Sequence[Lease], plan: Plan, events: Sequence[Event], head: str | None) -> str:
    """Return the report of a run, given the leases of its hands.

    Texts of tasks and agents cannot add headings or markup to it.
    """
    lease = hands[0]
    lines = [f"# Run {lease.run}", "", f"- Queued: {timestamp(lease.made)}"]
    lines += [f"- {_hand(each, len(hands))}: {each.state.value}, since {timestamp(each.since)}" for each in hands]
    work = lease.work
    named = (("Agent", work.agent), ("Model", work.model), ("Repository", work.repo), ("Plan", lease.session))
    lines += [f"- {name}: `{printable(text).replace('`', chr(0x2BC))}`" for name, text in named if text]
    log = [line for row in rows_lines(timeline(events, head, timestamp)) for line in _text(row)]
    return (
        "\n".join(
            [
                *lines,
                "",
                "## Plan",
                "",
                lossless_checklist(plan, escaped=True),
                "## Log",
                "",
                *(f"    {each}" for each in log),
            ]
        ).rstrip()
        + "\n"
    )


def report_path(folder: str, name: FileName) -> str:
    return path_of(folder, f"{name}.md")


def write_report(home: str, name: FileName, text: str) -> str:
    """Write a report to the folder of reports, in place of an earlier one, and return its path."""
    folder = os.path.join(home, "reports")
    make_private_folder(folder)
    path = report_path(folder, name)
    replace_file(path, text.encode("utf-8", "replace"))
    return path


def _hand(lease: Lease, hands: int) -> str:
    return f"Hand {lease.hand + 1}" if hands > 1 else "State"


def _text(line: Sequence[object]) -> list[str]:
    return printable_lines("".join(str(getattr(span, "text", span)) for span in line))


class Results:
    """The results of the work under a lease; its files are those of `files`."""

    def __init__(self, site: WorkSite, lease: Lease, files: Workspace) -> None:
        self._site, self._lease, self._files = site, lease, files
        self._has_conflict = False

    def checkpoint(self, message: str, task: int = 0) -> None:
        """Keep the files, and record it if the lease is still held. A failure is told: the agent can go on."""
        try:
            self._keep(message, task)
        except (GitError, OSError) as error:
            self.tell(f"no checkpoint was kept: {error}")

    def with_results(self, ending: RunEnding) -> RunEnding:
        """Publish what the run has made, or keep it for the next agent, and add the agent's output to a failure."""
        if self._files.worktree.folder and ending.outcome is WorkOutcome.DONE:
            try:
                self._keep("the end of the run")
                self._files.publish(self._text(replace(self._lease, state=LeaseState.DONE)), self._check_held)
            except (GitError, OSError) as error:
                self.tell(f"its branch was not published: {error}")
                ending = not_published(str(error), self._site.store.history(self._lease.session), self._lease)
        elif self._files.worktree.folder:
            self.checkpoint("the end of an attempt")
        if self._has_conflict and ending.outcome is WorkOutcome.DONE:
            ending = replace(ending, why=self._conflict())
        if ending.outcome not in (WorkOutcome.RETRY, WorkOutcome.FAILED):
            return replace(ending, why=self._site.redactor.text(ending.why))
        why = with_output(ending.why, last_lines(self._files.output, MAX_LINES))
        return replace(ending, why=self._site.redactor.text(why))

    def report(self, after: Lease) -> None:
        """Write the report of the run, and tell where it is."""
        try:
            path = write_report(self._site.options.home, self._files.name, self._text(after))
        except (TildoneError, OSError) as error:
            self.tell(f"no report was written: {error}")
            return
        self._site.tell(f"run {hand_name(after)} is {after.state.value}; its report is {printable(path)}")

    def tell_state(self, after: Lease, why: str) -> None:
        """Tell in which state a run is that goes on, and why."""
        state = "queued again" if after.is_queued else after.state.value
        self._site.tell(f"run {hand_name(after)} is {state}: {printable(why)}")

    def tell(self, text: str) -> None:
        self._site.tell(f"run {hand_name(self._lease)}: {printable(self._site.redactor.text(text))}")

    def reopen(self, tasks: Sequence[int]) -> None:
        """Reopen tasks whose files were lost with the machine that had them."""
        session, lost = self._session(), "its files were lost with the worker before"
        checks = {task.number: task.check for task in session.plan.tasks if task.check and task.number in tasks}
        if checks:
            # A proof holds while the tracked files are as they were. Those that were lost may not have been tracked.
            proofs = {number: Proof(Result.FAILED, check.command, reason=lost) for number, check in checks.items()}
            session.record_proofs(proofs, Actor.TIMER)
        note = f"reopened: {lost}; {self._files.worktree.found} has none of them"
        notes = [Note(Numbered((task,)), note) for task in tasks]
        session.change([Mark(Numbered(tuple(tasks)), Status.PENDING), *notes], Actor.TIMER)
        self.tell(f"reopened tasks {', '.join(map(str, tasks))}, whose files were lost with the worker before")

    def ask_for(self, checks: Sequence[Check]) -> None:
        """Ask a person for the checks that tasks are blocked for: most agents cannot wait for an answer."""
        leases, held = self._site.leases, self._lease.fence
        asked = [
            each for view in leases.look(held.run) if view.lease.hand == held.hand for each in view.lease.questions
        ]
        asker = RunAsker(leases, held, self._site.new_id, asked)
        for check in checks:
            asker.ask(CHECK, check_text(check))

    def unblock(self, tasks: Sequence[int]) -> None:
        """Let tasks go on that were blocked until a person had approved their checks."""
        self._session().change([Mark(Numbered(tuple(tasks)), Status.PENDING)], Actor.TIMER)

    def _keep(self, message: str, task: int = 0) -> None:
        # Before the files are read: an agent may complete a task meanwhile.
        as_of = self._site.store.session_head(self._lease.session).head or ""
        kept = self._files.checkpoint(task, message)
        if kept is None:
            return
        self._site.leases.append(self._lease.fence, replace(kept, as_of=as_of), self._site.new_id())
        if not self._files.share(self._check_held) and not self._has_conflict:
            self._has_conflict = True
            self.tell(self._conflict())
            self._note(task)

    def _note(self, task: int) -> None:
        """Say in the plan that a branch has to be merged by a person."""
        session = self._session()
        numbers = [each.number for each in session.plan.tasks]
        target = task if task in numbers else numbers[-1]
        session.change([Note(Numbered((target,)), self._conflict())], Actor.TIMER)

    def _conflict(self) -> str:
        hand, branch = self._lease.hand + 1, self._files.worktree.branch
        return (
            f"conflict: what hand {hand} has done could not be merged into {branch}; "
            f"it is on the branch {self._files.own_branch}"
        )

    def _check_held(self) -> None:
        if not self._site.leases.renew([self._lease.fence]):
            raise RunFenced(self._lease.run)

    def _session(self) -> Session:
        site = self._site
        return Session(site.store, self._lease.session, BY_HAND, now=now, new_id=site.new_id)

    def _text(self, lease: Lease) -> str:
        store, session = self._site.store, self._lease.session
        state = latest_state(store.history(session))
        return self._site.redactor.text(run_report([lease], state.plan, list(store.events(session)), state.head))
