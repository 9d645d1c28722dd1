"""What keys do to checks: set, approve and run them. Checks run in a thread of their own, so nothing waits for them."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tildone.app.check_facts import CheckFacts
from tildone.app.check_states import owner_name
from tildone.app.edits import sentence
from tildone.core.check import Check
from tildone.core.guard import PLAN
from tildone.core.plan import Status
from tildone.core.query import has_checks
from tildone.errors import Conflict
from tildone.log.needs import Need
from tildone.overview.rows import SessionRow
from tildone.tui.check_rows import PLAN_ROW
from tildone.tui.editing import Editor, Notice
from tildone.tui.order_actions import OrderActions
from tildone.tui.palette import Palette
from tildone.tui.plan_rows import PlanOptions
from tildone.tui.prompt import shown_in_field
from tildone.value import replace, value
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

LOOK_SECONDS = 3
"""How often the files of the plan that is shown are compared with its proofs."""

YES, NO = "yes", "no"


@value
class Owner:
    """What can have a check: a task, or the plan, whose number is PLAN. `when` says when the check is run."""

    number: int
    check: Check | None
    when: str

    @property
    def name(self) -> str:
        """Its name in a message."""
        return owner_name(self.number)


class CheckActions(OrderActions):
    """The actions on the checks of the plan that is shown."""

    def __init__(self, editor: Editor, palette: Palette) -> None:
        super().__init__(editor, palette)
        self._runs, self._looks = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._known_facts: tuple[str, CheckFacts] = ("", CheckFacts())
        self._is_looking = False
        self._outputs: dict[tuple[str, int], str] = {}

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
        return replace(options, checks=self.check_facts, outputs=outputs, numbers=self.asks_for_numbers)

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
            self._run_check(session, self._owner(task.number), partial(self._editor.done, session.name, task.number))
        else:
            super().action_close_task(status)

    def action_verify(self) -> None:
        """Run the check of the task again, or that of the plan."""
        session, owner = self.watched, self._cursor_owner()
        if session and owner and owner.check:
            self._run_check(session, owner, partial(self._editor.verify, session.name, owner.number))
        elif owner:
            self.notify_change(Notice(f"{owner.name} has no check."))

    def action_check(self) -> None:
        """Ask for the command that shows that the task is done; an empty one removes the check."""
        owner = self._cursor_owner()
        if owner:
            self._ask_command(owner)

    def action_plan_check(self) -> None:
        """Ask for the command that shows that the plan is done; an empty one removes the check."""
        self._ask_command(self._owner(PLAN))

    def _ask_command(self, owner: Owner) -> None:
        session = self.watched
        if session is None:
            return
        name, was = session.name, owner.check
        shown = check_text(was) if was else ""

        def done(line: str) -> None:
            # A command that cannot be shown as it is stays as it is, unless the person changed it.
            if line != shown_in_field(shown):
                self._change(partial(self._editor.set_check, name, owner.number, line, was), self._look_again)

        who = "The plan" if owner.number == PLAN else owner.name
        self.prompt.ask(f"{who} is done if this passes:", shown, done, self.focus_pane)

    def action_approve(self) -> None:
        """Show the check of the task if it waits for a person, else the first one that does, to approve it."""
        session, owner = self.watched, self._cursor_owner()
        if session is None:
            return
        waiting = self.proposed
        if owner and owner.number in waiting:
            waiting = [owner.number]
        if waiting:
            self._ask_approval(session, self._owner(waiting[0]), lambda: None)
        elif owner:
            why = "needs no approval here" if owner.check else "has no check"
            self.notify_change(Notice(f"{owner.name} {why}."))

    @property
    def proposed(self) -> list[int]:
        """Whose checks wait for the approval of a person, in the order of the plan; the plan itself is the last."""
        numbers = [*(task.number for task in self.plan.tasks), PLAN]
        return [number for number in numbers if number in self.check_facts.proposed and self._owner(number).check]

    def _cursor_owner(self) -> Owner | None:
        """The task with the cursor, or the plan if the cursor is on its check."""
        if self.plan_list.key == PLAN_ROW:
            return self._owner(PLAN)
        task = self._cursor_task()
        return self._owner(task.number) if task else None

    def _owner(self, number: int) -> Owner:
        if number == PLAN:
            return Owner(PLAN, self.plan.check, "when all tasks are done")
        task = next(task for task in self.plan.tasks if task.number == number)
        return Owner(number, task.check, f"whenever “{task.text}” is marked as done")

    def _run_check(self, session: SessionRow, owner: Owner, run: Callable[[], Notice]) -> None:
        """Run a check in its thread, unless it runs already. One that is proposed is shown to the person first."""
        checks, name, number = self._editor.checks, session.name, owner.number
        if owner.check is not None and number in self.check_facts.proposed:
            self._ask_approval(session, owner, lambda: self._run_check(session, owner, run))
            return
        try:
            checks.begin(name, [number])
        except Conflict as error:
            self.notify_change(Notice(sentence(error)))
            return
        self.draw_plan()

        async def checked() -> None:
            try:
                notice = await get_running_loop().run_in_executor(self._runs, run)
            finally:
                checks.end(name, [number])
            self._outputs.pop((name, number), None)
            self._outputs.update({(name, each): output for each, output in notice.outputs if output})
            self.notify_change(replace(notice, text=printable(notice.text)))
            self._look_again(notice)

        self.run_worker(checked())

    def _ask_approval(self, session: SessionRow, owner: Owner, then: Callable[[], object]) -> None:
        """Show a command whole, and ask whether it may be run as a check."""
        check = owner.check
        if check is None:
            return
        where = f" in {check.folder}" if check.folder else ""
        need = Need("", session.name, "check", check_text(check), (YES, NO), detail=f"runs{where} {owner.when}")

        def answered(_need: Need, answer: str) -> None:
            if answer == YES:
                approve = partial(self._editor.approve, session.name, check)
                self._change(approve, lambda notice: self._approved(session, owner.number, then, notice))

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
