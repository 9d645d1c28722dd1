"""What keys do to checks: set, approve and run them. Checks run in a thread of their own, so nothing waits for them."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tildone.core.check import Check
from tildone.core.plan import Status, Task
from tildone.core.query import has_checks
from tildone.log.needs import Need
from tildone.overview.check_states import CheckFacts
from tildone.overview.rows import SessionRow
from tildone.tui.actions import Actions
from tildone.tui.editing import Editor, Notice
from tildone.tui.palette import Palette
from tildone.tui.plan_rows import PlanOptions
from tildone.tui.prompt import shown_in_field
from tildone.value import replace
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

LOOK_SECONDS = 3
"""How often the files of the plan that is shown are compared with its proofs."""

YES, NO = "yes", "no"


class CheckActions(Actions):
    """The actions on the checks of the plan that is shown."""

    def __init__(self, editor: Editor, palette: Palette) -> None:
        super().__init__(editor, palette)
        self._runs, self._looks = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._known_facts: tuple[str, CheckFacts] = ("", CheckFacts())
        self._is_looking = False
        self._outputs: dict[tuple[str, int], str] = {}

    def draw_plan(self) -> None:
        """Draw the plan."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Begin to look at the files of the plan that is shown."""
        self.set_interval(LOOK_SECONDS, self.look_at_checks)

    def on_unmount(self) -> None:
        """End a check that is running; its result is not recorded."""
        self._editor.checks.stop()
        self._runs.shutdown(cancel_futures=True)
        self._looks.shutdown(cancel_futures=True)

    @property
    def check_facts(self) -> CheckFacts:
        """What is known about the checks of the plan that is shown."""
        name = self.watched.name if self.watched else ""
        known = self._known_facts[1] if self._known_facts[0] == name else CheckFacts()
        return replace(known, checking=self._editor.checks.checking(name))

    def with_checks(self, options: PlanOptions) -> PlanOptions:
        """Return what of the plan is shown, with what is known about its checks."""
        name = self.watched.name if self.watched else ""
        outputs = tuple((number, text) for (session, number), text in self._outputs.items() if session == name)
        return replace(options, checks=self.check_facts, outputs=outputs)

    def look_at_checks(self) -> None:
        """Find out, in a thread, which proofs are stale and which checks wait for a person."""
        session, plan = self.watched, self.plan
        if session is None or self._is_looking or not has_checks(plan):
            return
        name, self._is_looking = session.name, True

        async def look() -> None:
            try:
                find = partial(self._editor.checks.facts, name, plan)
                found = await get_running_loop().run_in_executor(self._looks, find)
            finally:
                self._is_looking = False
            if self._known_facts != (name, found):
                self._known_facts = name, found
                self.draw_plan()

        self.run_worker(look())

    def action_close_task(self, status: str) -> None:
        """Close the task; a closed one is opened again. A task with a check is done only if it passes."""
        session, task = self.watched, self._cursor_task()
        is_done = Status(status) is Status.COMPLETED and task is not None and task.status.is_open
        if session and task and is_done and (task.check or self.plan.check):
            self._run_check(session, task, partial(self._editor.done, session.name, task.number))
        else:
            super().action_close_task(status)

    def action_verify(self) -> None:
        """Run the check of the task again."""
        session, task = self.watched, self._cursor_task()
        if session and task and task.check:
            self._run_check(session, task, partial(self._editor.verify, session.name, task.number))
        elif task:
            self.notify_change(Notice(f"#{task.number} has no check."))

    def action_check(self) -> None:
        """Ask for the command that shows that the task is done; an empty one removes the check."""
        session, task = self.watched, self._cursor_task()
        if session is None or task is None:
            return
        name, number, was = session.name, task.number, task.check
        shown = check_text(was) if was else ""

        def done(line: str) -> None:
            # A command that cannot be shown as it is stays as it is, unless the person changed it.
            if line != shown_in_field(shown):
                self._change(partial(self._editor.set_check, name, number, line, was), self._look_again)

        self.prompt.ask(f"#{number} is done if this passes:", shown, done, self.focus_pane)

    def action_approve(self) -> None:
        """Show a check that waits for a person, to approve it."""
        session, task = self.watched, self._cursor_task()
        if session is None or task is None:
            return
        if task.check is not None and task.number in self.check_facts.proposed:
            self._ask_approval(session, task, task.check, lambda: None)
        else:
            why = "needs no approval here" if task.check else "has no check"
            self.notify_change(Notice(f"#{task.number} {why}."))

    def _run_check(self, session: SessionRow, task: Task, run: Callable[[], Notice]) -> None:
        """Run a check in its thread, unless it runs already. One that is proposed is shown to the person first."""
        checks, name, number = self._editor.checks, session.name, task.number
        if task.check is not None and number in self.check_facts.proposed:
            self._ask_approval(session, task, task.check, lambda: self._run_check(session, task, run))
            return
        if not checks.begin(name, [number]):
            self.notify_change(Notice(f"The check of #{number} is running already."))
            return
        self.draw_plan()

        async def checked() -> None:
            try:
                notice = await get_running_loop().run_in_executor(self._runs, run)
            finally:
                checks.end(name, [number])
            self._outputs.pop((name, number), None)
            if notice.output:
                self._outputs[name, number] = notice.output
            self.notify_change(replace(notice, text=printable(notice.text)))
            self._look_again(notice)

        self.run_worker(checked())

    def _ask_approval(self, session: SessionRow, task: Task, check: Check, then: Callable[[], object]) -> None:
        """Show a command whole, and ask whether it may be run as a check."""
        where = f" in {check.folder}" if check.folder else ""
        detail = f"runs{where} whenever “{task.text}” is marked as done"
        need = Need("", session.name, "check", check_text(check), (YES, NO), detail=detail)

        def answered(_need: Need, answer: str) -> None:
            if answer == YES:
                approve = partial(self._editor.approve, session.name, check)
                self._change(approve, lambda notice: self._approved(session, task.number, then, notice))

        self.need_panel.ask(need, 1, answered, self.focus_pane)

    def _approved(self, session: SessionRow, number: int, then: Callable[[], object], notice: Notice) -> None:
        if not notice.failed:
            known = self._known_facts[1]
            self._known_facts = session.name, replace(known, proposed=known.proposed - {number})
            then()
        self._look_again(notice)

    def _look_again(self, _notice: Notice) -> None:
        self.draw_plan()
        self.look_at_checks()
