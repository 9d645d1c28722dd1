"""What becomes of the work under a lease: checkpoints, the branch, questions to a person, and the report."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tildone.app.answering import CONFLICT, DISCARD, open_questions
from tildone.app.result_texts import commit_message, run_report
from tildone.app.run_results import RunResults, read_result
from tildone.app.transcripts import last_words
from tildone.base import RunFenced, StoreDamaged, TildoneError, replace, value
from tildone.base.files import replace_file
from tildone.base.ids import now
from tildone.base.private import make_private_folder, path_of
from tildone.base.secrets import Redactor
from tildone.fleet import permissions
from tildone.fleet.drivers import SHELL
from tildone.fleet.drivers.launch import Driver
from tildone.fleet.git import GitError
from tildone.fleet.handover import MAX_CHARACTERS, MAX_LINES, RunEnding, out_of_order
from tildone.fleet.notices import PersonNotices
from tildone.fleet.workspaces import Workspace
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor
from tildone.plan.lists import RunView
from tildone.plan.model import Check, Proof, Result, Status
from tildone.plan.names import FileName
from tildone.plan.ops import Mark, Note, Numbered
from tildone.plan.runs import Answered, Asked, Lease, Published, WorkOutcome, is_of
from tildone.plan.text.proofs import check_text
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable, single_line
from tildone.stores.leasing import RunLeases

MIN_FREE_MB = 1000
"""A worker with less space on its disk takes nothing, unless it was told another amount."""

RETRIES = 4
"""How often an attempt is repeated that has failed, unless the worker was told another number."""


@value
class WorkerOptions:
    """How many runs a worker works on at once, and what it permits.

    `allow` are the patterns of the commands that its agents may run, `ask` of those that they may run once a person has
    approved them in the store, `agents` the names of these agents. `home` is the folder for working trees, outputs and
    reports, and `grace` the seconds that an agent gets to end. With less than `min_free_mb` megabytes of space on the
    disk of `home`, the worker takes nothing. An attempt that has failed is repeated `retries` times.
    `notify` is a command of the person: see `PersonNotices`.
    """

    slots: int
    labels: frozenset[str]
    allow: tuple[str, ...]
    agents: frozenset[str]
    home: str
    grace: float
    min_free_mb: int = MIN_FREE_MB
    ask: tuple[str, ...] = ()
    retries: int = RETRIES
    notify: str = ""


@value
class WorkSite:
    """What the runs of a worker have in common. `store` is open at the address `address`; `new_id` makes event ids.

    `agents` are the drivers that the worker permits, `left` the runs that it has left to other workers. `tell` is given
    lines for the person, who is told by `notices` that something needs them.
    """

    leases: RunLeases
    store: Store
    address: str
    options: WorkerOptions
    agents: Mapping[str, Driver]
    environ: Mapping[str, str]
    redactor: Redactor
    new_id: Callable[[], str]
    left: permissions.LeftRuns
    tell: Callable[[str], None]
    notices: PersonNotices


def report_path(folder: str, name: FileName) -> str:
    return path_of(folder, f"{name}.md")


def report_of(store: Store, views: Sequence[RunView]) -> str:
    """Return the report of a run, given the leases of its hands. Raises StoreDamaged if the log of its plan is."""
    session = views[0].lease.session
    asked = open_questions(store, [view.lease for view in views])
    result = RunResults(store, now).of_run(views, asked)
    if result is None:
        raise StoreDamaged(f"the log of {session!r} is damaged")
    return run_report(result, list(store.events(session)), store.session_head(session).head)


class Results:
    """The results of the work under a lease; its files are those of `files`."""

    def __init__(self, site: WorkSite, lease: Lease, files: Workspace) -> None:
        self._site, self._lease, self._files = site, lease, files
        self._told_conflict = self.is_in_conflict = False
        self.published: Published | None = None
        """What the branch of the run has changed, once it has ended well."""

    def checkpoint(self, message: str, task: int = 0) -> None:
        """Keep the files, and record it if the lease is still held. A failure is told: the agent can go on."""
        try:
            conflicts = self._keep(message, task)
        except (GitError, OSError) as error:
            self.tell(f"no checkpoint was kept: {error}")
            return
        if conflicts and not self._told_conflict:
            self._told_conflict = True
            text = self._conflict(conflicts).partition("\n")[0]
            self.tell(text)
            session = self._session()
            numbers = [each.number for each in session.plan.tasks]
            target = task if task in numbers else numbers[-1]
            session.change([Note(Numbered((target,)), text)], Actor.TIMER)

    def with_results(self, ending: RunEnding) -> RunEnding:
        """Publish what the run has made, or keep it for the next agent, and add the agent's output to a failure."""
        if self._files.worktree.folder and ending.outcome is WorkOutcome.DONE:
            try:
                ending = self._publish(ending)
            except (GitError, OSError) as error:
                self.tell(f"its branch was not published: {error}")
                newest_first = self._site.store.history(self._lease.session)
                ending = out_of_order(f"the branch was not published: {error}", newest_first, self._lease)
        elif self._files.worktree.folder:
            self.checkpoint("the end of an attempt")
        if ending.outcome is WorkOutcome.RETRY and (why_not := self._why_not_repeated()) is not None:
            ending = RunEnding(WorkOutcome.FAILED, "; ".join(filter(None, [ending.why, why_not])))
        failed = ending.outcome in (WorkOutcome.RETRY, WorkOutcome.FAILED)
        lines = last_words(self._files.output, MAX_LINES) if failed else []
        # A secret that is cut would not be found.
        why, said = map(self._site.redactor.text, (ending.why, "\n".join(lines)))
        return replace(ending, why="\n".join(filter(None, [why[:MAX_CHARACTERS], said[-MAX_CHARACTERS:]])))

    def _publish(self, ending: RunEnding) -> RunEnding:
        """Publish the branch of a run that is done, unless what a hand has done conflicts with it."""
        discarded_by = self._discarded_by()
        conflicts = self._keep("What was left at the end of the run", shares=discarded_by is None)
        if conflicts:
            return self._asked_about(conflicts)
        lease = self._lease
        history = [*self._site.store.history(lease.session)][::-1]
        message = commit_message(read_result(history, [lease], now()))
        self._files.publish(self._site.redactor.text(message), self._check_held)
        self.published = self._files.published()
        if discarded_by is None:
            return ending
        why = f"what hand {lease.hand + 1} has done is left out, as {discarded_by or 'a person'} decided"
        return replace(ending, why=f"{why}; it is on the branch {self._files.own_branch}")

    def _why_not_repeated(self) -> str | None:
        """Return why an attempt that has failed is not repeated, which may be empty; None if it is."""
        lease, retries = self._lease, self._site.options.retries
        if lease.fails >= retries:
            return f"it was tried {lease.fails + 1} times" if lease.fails else ""
        if lease.work.agent == SHELL:
            events = list(self._site.store.events(lease.session))
            with suppress(GitError, TildoneError, OSError):
                if self._files.has_same_files(events) and lease.fails:
                    return "the attempt before has failed on the same files"
        return None

    def clear(self) -> None:
        """Remove the working tree and the checkpoints of a run whose branch has all of it."""
        try:
            self._files.remove()
        except (GitError, OSError) as error:
            self.tell(f"its working tree was not removed: {error}")

    def report(self, after: Lease) -> str:
        """Write the report, and return where it is; empty if it could not be written."""
        folder = os.path.join(self._site.options.home, "reports")
        try:
            text = report_of(self._site.store, self._site.leases.look(after.run))
            make_private_folder(folder)
            path = report_path(folder, self._files.name)
            replace_file(path, self._site.redactor.text(text).encode("utf-8", "replace"))
        except (TildoneError, OSError) as error:
            self.tell(f"no report was written: {error}")
            return ""
        return f"; its report is {printable(path)}"

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
        asker = self._asker()
        for check in checks:
            asker.ask(permissions.CHECK, check_text(check))

    def unblock(self, tasks: Sequence[int]) -> None:
        """Let tasks go on that were blocked until a person had approved their checks."""
        self._session().change([Mark(Numbered(tuple(tasks)), Status.PENDING)], Actor.TIMER)

    def _asker(self) -> permissions.RunAsker:
        leases, held = self._site.leases, self._lease.fence
        return permissions.RunAsker(leases, held, self._site.new_id, [view.lease for view in leases.look(held.run)])

    def _keep(self, message: str, task: int = 0, *, shares: bool = True) -> tuple[str, ...]:
        """Keep the files, and merge what a hand has done; return the files in conflict."""
        # Before the files are read: an agent may complete a task meanwhile.
        as_of = self._site.store.session_head(self._lease.session).head or ""
        kept = self._files.checkpoint(task, message)
        if kept is None:
            return ()
        self._site.leases.append(self._lease.fence, replace(kept, as_of=as_of), self._site.new_id())
        return self._files.share(self._check_held) if shares else ()

    def _asked_about(self, conflicts: Sequence[str]) -> RunEnding:
        self.is_in_conflict, text = True, self._conflict(conflicts)
        self._asker().ask(CONFLICT, self._site.redactor.text(text))
        return RunEnding(WorkOutcome.WAITING, text.partition("\n")[0])

    def _conflict(self, files: Sequence[str]) -> str:
        branch, own = self._files.worktree.branch, self._files.own_branch
        listed = ", ".join(printable(single_line(file)) for file in files[:MAX_LINES])
        what = f"what hand {self._lease.hand + 1} has done conflicts with the branch {branch}, in {listed}"
        return f"{what}; it is on the branch {own}\nTo merge it: {self._files.merge_command}"

    def _discarded_by(self) -> str | None:
        """Return who has decided to leave out what conflicts; None if nobody has."""
        asked, answer = set[str](), None
        for event in self._site.store.events(self._lease.session):
            fact = event.fact
            if isinstance(fact, Asked) and fact.kind == CONFLICT and is_of(fact, self._lease):
                asked.add(fact.question)
            elif isinstance(fact, Answered) and fact.question in asked and fact.run == self._lease.run:
                answer = fact
        return answer.who if answer is not None and answer.text == DISCARD else None

    def _check_held(self) -> None:
        if not self._site.leases.renew([self._lease.fence]):
            raise RunFenced(self._lease.run)

    def _session(self) -> Session:
        site = self._site
        return Session(site.store, self._lease.session, BY_HAND, now=now, new_id=site.new_id)
