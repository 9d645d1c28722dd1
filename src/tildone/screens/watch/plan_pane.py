"""A plan that is shown, and what keys do to it: actions ask for what they need, then hand a command to the editor."""

from __future__ import annotations

import shlex
from asyncio import get_running_loop
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message

from tildone.app import commands
from tildone.app.answering import NO, YES
from tildone.app.apply import Editor, Notice
from tildone.app.check_states import CheckFacts, owner_name
from tildone.app.checks import SessionChecks, words_of
from tildone.app.commands import Answer, Place
from tildone.app.conflict import Conflict
from tildone.app.edits import added_after, moved_by, sentence, toggled
from tildone.app.sessions import SessionRow
from tildone.base import TYPE_CHECKING, TildoneError, replace, value
from tildone.base.desktop import copy_to_clipboard
from tildone.log.needs import Need
from tildone.plan.events import Directive
from tildone.plan.formats.markdown import portable_checklist
from tildone.plan.guard import PLAN
from tildone.plan.model import WORD_FIELDS, Check, Plan, Status, Task, has_checks
from tildone.plan.text.amounts import copied_words
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import printable, visible
from tildone.plan.text.styles import Role, Span
from tildone.screens.watch.actions import APP_KEYS, KEYS, PLAN_KEYS
from tildone.screens.watch.glance_screen import GlanceScreen
from tildone.screens.watch.need_panel import NeedPanel
from tildone.screens.widgets import prompt
from tildone.screens.widgets.keys import Line, Palette
from tildone.screens.widgets.plan import PHASE, PLAN_ROW, SIGN_COLUMN, PlanOptions
from tildone.screens.widgets.rows import RowList


class Asking:
    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self.prompt, self.question, self.need_panel = (
            prompt.Prompt(palette),
            prompt.QuestionLine(palette),
            NeedPanel(palette),
        )


class PlanChecks:
    """What is known about checks on this machine, and the ends of the outputs of those that did not pass."""

    def __init__(self, checks: SessionChecks) -> None:
        self._checks = checks
        self._runs, self._looks = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._known: tuple[str, CheckFacts] = ("", CheckFacts())
        self._is_looking = False
        self._outputs: dict[tuple[str, int], str] = {}

    def stop(self) -> None:
        """End a check that is running; its result is not recorded."""
        self._checks.stop()
        self._runs.shutdown(cancel_futures=True)
        self._looks.shutdown(cancel_futures=True)

    def facts(self, session: str) -> CheckFacts:
        """Return what is known about the checks of a session, if it was looked at last."""
        known = self._known[1] if self._known[0] == session else CheckFacts()
        return replace(known, checking=self._checks.checking(session))

    def outputs(self, session: str) -> tuple[tuple[int, str], ...]:
        return tuple((number, text) for (name, number), text in self._outputs.items() if name == session)

    async def look(self, session: str, plan: Plan) -> bool:
        """Find out which proofs are stale and which checks wait for a person; return whether something is new."""
        if self._is_looking:
            return False
        self._is_looking = True
        try:
            find = partial(self._checks.facts, session, plan)
            found = session, await get_running_loop().run_in_executor(self._looks, find)
        finally:
            self._is_looking = False
        before, self._known = self._known, found
        return before != found

    async def run(self, session: str, number: int, run: Callable[[], Notice]) -> Notice:
        try:
            notice = await get_running_loop().run_in_executor(self._runs, run)
        finally:
            self._checks.end(session, [number])
        self._outputs.pop((session, number), None)
        self._outputs.update({(session, each): output for each, output in notice.outputs if output})
        return notice

    def approved(self, session: str, number: int) -> None:
        """A check does not wait for a person any more."""
        known = self._known[1]
        self._known = session, replace(known, proposed=known.proposed - {number})


BEFORE_MARK, AFTER_MARK = "↑", "↓"


class SessionList(RowList):
    BINDINGS = prompt.key_bindings(key for key in KEYS if key.pane in (prompt.Pane.LIST, prompt.Pane.ANY))


class PlanList(RowList):
    """The tasks of a plan. A drag that begins at the sign of a task moves the task; any other selects text."""

    BINDINGS = prompt.key_bindings(APP_KEYS)

    @dataclass
    class Dropped(Message):
        task: str
        other: str
        place: Place

    class SignClicked(Message):
        """The sign of the task with the cursor was clicked."""

    _dragged = ""
    _target: tuple[str, Place] | None = None

    @property
    def is_dragging(self) -> bool:
        """Whether a move of the mouse means something."""
        return bool(self._dragged) or super().is_dragging

    def press(self, x: int, y: int) -> None:
        """Begin to drag the task whose sign is there, else to select."""
        super().press(x, y)
        self._dragged, self._target = self._task_of_sign(x, y), None
        if self._dragged:
            self._pressed = None

    def drag_to(self, x: int, y: int) -> None:
        if not self._dragged:
            super().drag_to(x, y)
            return
        self.was_dragged = self.was_dragged or self.key_at(y) != self._dragged
        self._target = self._target_at(self._top + y) if self.was_dragged else None
        self.refresh()

    def release(self) -> None:
        if not self._dragged:
            super().release()
            return
        dragged, target = self._dragged, self._target
        self._dragged, self._target = "", None
        self.refresh()
        if target is not None:
            self.select(dragged)
            self.post_message(self.Dropped(dragged, *target))

    def mark_at(self, index: int) -> str:
        """Return an arrow for the row that a dragged task would go before or after."""
        if self._target is None:
            return ""
        key, side = self._target
        rows = [place for place, row in enumerate(self._rows) if row.key == key]
        if index not in (rows[:1] if side is Place.BEFORE else rows[-1:]):
            return ""
        return BEFORE_MARK if side is Place.BEFORE else AFTER_MARK

    @on(Click)
    def on_sign(self, event: Click) -> None:
        key = self._task_of_sign(event.x, event.y)
        if key and not self.was_dragged:
            self.select(key)
            self.post_message(self.SignClicked())

    def _target_at(self, index: int) -> tuple[str, Place] | None:
        """Where a task goes that is dropped on a row: which task it goes beside, and on which side of it.

        On a task above it goes before, on one below after that one. On a heading or the row before it, it becomes the
        first task of the phase; below the last row, the last task. It stays if it is dropped on itself, and cannot go
        into a folded phase.
        """
        tasks = [key for key in self.keys if key.isdecimal()]
        if self._dragged not in tasks:
            return None
        key = self._rows[index].key if index < len(self._rows) else ""
        if not key:
            below = next((row.key for row in self._rows[index:] if row.key in tasks), None)
            key, side = (tasks[-1], Place.AFTER) if below is None else (below, Place.BEFORE)
        elif key in tasks:
            side = Place.BEFORE if tasks.index(key) < tasks.index(self._dragged) else Place.AFTER
        else:
            return None
        return None if key == self._dragged else (key, side)

    def _task_of_sign(self, x: int, y: int) -> str:
        """The task whose sign is drawn there; empty if there is none."""
        key = self.key_at(y)
        is_first_row = key and key != self.key_at(y - 1)
        return key if is_first_row and x == SIGN_COLUMN and key.isdecimal() else ""


if TYPE_CHECKING:
    from tildone.app.edits import Command


LOOK_SECONDS = 3
"""How often the files of the plan that is shown are compared with its proofs."""


@value
class AroundPlan:
    """What the screen around a plan does for it.

    `session` returns whose plan is shown, and `detail` what was read of it. `draw` draws the plan again, `notify` shows
    what a change came to, and `focus` gives the keys back to the pane that had them before a question.
    """

    session: Callable[[], SessionRow | None]
    detail: Callable[[], prompt.SessionDetail]
    draw: Callable[[], object]
    notify: Callable[[Notice], object]
    focus: Callable[[], object]


@value
class Owner:
    """What can have a check: a task, or the plan, whose number is PLAN. `when` says when the check is run."""

    number: int
    check: Check | None
    when: str

    @property
    def name(self) -> str:
        return owner_name(self.number)


class PlanPane(Vertical):
    """The plan. Changes are made in a thread, one after the other."""

    BINDINGS: ClassVar[list[BindingType]] = prompt.key_bindings(PLAN_KEYS)

    def __init__(self, rows: RowList, editor: Editor, asking: Asking, around: AroundPlan, name: str) -> None:
        super().__init__(id=name)
        self.rows, self.editor, self.checks = rows, editor, PlanChecks(editor.checks)
        self.options = PlanOptions()
        self.asking, self._around = asking, around
        self._changes = ThreadPoolExecutor(1)

    def on_mount(self) -> None:
        self.set_interval(LOOK_SECONDS, self.look_at_checks)

    def stop(self) -> None:
        """End a check that is running, and wait for the changes that were begun."""
        self.checks.stop()
        self._changes.shutdown()

    @property
    def session(self) -> SessionRow | None:
        return self._around.session()

    @property
    def plan(self) -> Plan:
        """The plan; empty until it is read."""
        return self._around.detail().plan

    @property
    def shown(self) -> PlanOptions:
        name = self.session.name if self.session else ""
        return replace(self.options, checks=self.checks.facts(name), outputs=self.checks.outputs(name))

    @property
    def proposed(self) -> list[int]:
        """Whose checks wait for the approval of a person, in the order of the plan; the plan itself is the last."""
        numbers = [*(task.number for task in self.plan.tasks), PLAN]
        return [number for number in numbers if number in self.shown.checks.proposed and self._owner(number).check]

    def look_at_checks(self) -> None:
        """Find out, in a thread, which proofs are stale and which checks wait for a person."""
        session, plan = self.session, self.plan
        if session is None or not has_checks(plan):
            return

        async def look() -> None:
            if await self.checks.look(session.name, plan):
                self._around.draw()

        self.run_worker(look())

    def change(self, change: Callable[[], Notice], then: Callable[[Notice], object] = lambda _: None) -> None:
        """Make a change in the thread, and say what it came to."""

        async def changed() -> None:
            notice = await get_running_loop().run_in_executor(self._changes, change)
            self._around.notify(replace(notice, text=printable(notice.text)))
            then(notice)

        self.run_worker(changed())

    def copy_text(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.change(lambda: Notice(copied_words(text, certain=copy_to_clipboard(text))))

    @on(PlanList.Dropped)
    def on_dropped(self, message: PlanList.Dropped) -> None:
        self._on_task(lambda plan, _: commands.move(plan, [message.task], message.place, message.other))

    @on(PlanList.SignClicked)
    def on_sign_clicked(self) -> None:
        self.action_close_task(Status.COMPLETED.value)

    def action_move(self, rows: int) -> None:
        self.rows.action_move(rows)

    def action_page(self, pages: int) -> None:
        self.rows.action_page(pages)

    def action_first(self) -> None:
        self.rows.action_first()

    def action_last(self) -> None:
        self.rows.action_last()

    def action_filter(self) -> None:
        self.asking.prompt.ask("/", self.options.words, self.filter, self._around.focus, self.filter)

    def filter(self, words: str) -> None:
        self.options = replace(self.options, words=words)
        self._around.draw()

    def action_notes(self) -> None:
        self.options = replace(self.options, all_notes=not self.options.all_notes)
        self._around.draw()

    def action_fold(self) -> None:
        phase = self._cursor_phase()
        if phase is not None:
            self.options = replace(self.options, folded=self.options.folded ^ {phase})
            self._around.draw()
            self.rows.select(f"{PHASE}{phase}")

    def action_close_task(self, status: str) -> None:
        """Close the task; a closed one is opened again. A task with a check is done only if it passes."""
        session, task, to = self.session, self._cursor_task(), Status(status)
        if session is None or task is None:
            return
        if to is Status.COMPLETED and task.status.is_open and (task.check or self.plan.check):
            self._run_check(session, self._owner(task.number), partial(self.editor.done, session.name, task.number))
        else:
            self._apply(toggled(task.number, close=lambda plan: commands.close(plan, [str(task.number)], to)))

    def action_start(self) -> None:
        self._on_task(commands.start)

    def action_remove(self) -> None:
        self._on_task(commands.remove)

    def action_reorder(self, rows: int) -> None:
        if task := self._cursor_task():
            self._apply(moved_by(task.number, rows))

    def action_block(self) -> None:
        """Ask what the task waits for, and block it; a blocked one is unblocked."""
        task = self._cursor_task()
        if task and task.status is Status.BLOCKED:
            self._on_task(commands.unblock)
        elif task:
            number = str(task.number)
            self._ask(f"#{number} waits for:", lambda why: lambda plan: commands.block(plan, [number], why.strip()))

    def action_note(self) -> None:
        if task := self._cursor_task():
            number = str(task.number)
            self._ask(f"Note on #{number}:", lambda text: lambda plan: commands.note(plan, [number], text))

    def action_glance(self) -> None:
        """Show the task at a glance."""
        session, task = self.session, self._cursor_task()
        if session and task:
            self.run_worker(self._show_glance(session.name, task.number))

    async def _show_glance(self, session: str, number: int) -> None:
        facts = self.shown.checks
        try:
            find = partial(self.editor.glance, session, number, facts)
            glance = await get_running_loop().run_in_executor(self._changes, find)
        except TildoneError as error:
            self._around.notify(Notice(f"{printable(sentence(error))}.", failed=True))
            return
        self.app.push_screen(GlanceScreen(self.asking.palette, glance))

    def action_add(self) -> None:
        """Ask for a task, and add it after the one with the cursor, or to the phase with the cursor."""
        phase, task = self._cursor_phase(), self._cursor_task()
        self._ask("Add:", lambda text: added_after(task.number if task else None, text, phase))

    def action_add_phase(self) -> None:

        def ask_task(phase: str) -> None:
            if phase.strip():
                self._ask(f"First task of {phase.strip()}:", lambda new: lambda plan: commands.add(plan, [new], phase))

        if self.session:
            self.asking.prompt.ask("New phase:", "", ask_task, self._around.focus)

    def action_edit(self) -> None:
        session, task = self.session, self._cursor_task()
        if session and task:
            self._edit(session.name, task.number, was=task.text, text=task.text)

    def action_after(self) -> None:
        """Ask after which tasks the task comes; without any, it waits for none."""
        if task := self._cursor_task():
            number, shown = str(task.number), " ".join(f"#{each}" for each in task.after)
            self._set_numbers(shown=True)
            self._ask_line(
                f"#{number} comes after:",
                shown,
                lambda line: lambda plan: commands.order(plan, number, line.replace(",", " ").split()),
            )

    def action_words(self, field: str) -> None:
        """Ask for the words of a field, such as the files that the task changes."""
        if task := self._cursor_task():
            number, facts = str(task.number), WORD_FIELDS[field]
            self._ask_line(
                f"#{number} {facts.shown}:",
                shlex.join(getattr(task, field)),
                lambda line: lambda plan: commands.set_words(plan, field, number, words_of(line, f"the {facts.thing}")),
            )

    def action_copy_task(self) -> None:
        task = self._cursor_task()
        text = task.text if task else self._cursor_phase()
        if text:
            self.copy_text(visible(text))

    def action_copy_plan(self) -> None:
        if self.plan.tasks:
            self.copy_text(portable_checklist(self.plan))

    def action_undo(self) -> None:
        if session := self.session:
            self.change(partial(self.editor.undo, session.name))

    def action_redo(self) -> None:
        if session := self.session:
            self.change(partial(self.editor.redo, session.name))

    def action_steer(self, directive: str) -> None:
        """Pause, stop or resume the agent. A stop is asked for first, with the name of the session."""
        session = self.session
        if session is None:
            return
        steer = partial(self.change, partial(self.editor.steer, session.name, Directive(directive)))
        if Directive(directive) is not Directive.STOP:
            steer()
            return
        question = f"Stop the agent on {printable(session.title)}?"
        self.asking.question.ask(
            question, {"y": ("stop it", steer), "n": ("leave it", lambda: None)}, self._around.focus
        )

    def action_answer(self) -> None:
        session, panel = self.session, self.asking.need_panel
        if session is None or not session.needs:
            self._around.notify(Notice("There is no open question here."))
            return

        def answered(need: Need, answer: str) -> None:
            self.change(partial(self.editor.answer, need.id, answer))

        def end() -> None:
            panel.close()
            self._around.focus()

        need, of = session.needs[0], len(session.needs)
        panel.ask(need, of, answered, self._around.focus if need.options else lambda: None)
        if not need.options:
            self.asking.prompt.ask("Answer:", "", lambda text: answered(need, text), end)

    def action_verify(self) -> None:
        session, owner = self.session, self._cursor_owner()
        if session and owner and owner.check:
            self._run_check(session, owner, partial(self.editor.verify, session.name, owner.number))
        elif owner:
            self._around.notify(Notice(f"{owner.name} has no check."))

    def action_check(self) -> None:
        """Ask for the command that shows that the task is done; an empty one removes the check."""
        if owner := self._cursor_owner():
            self._ask_command(owner)

    def action_plan_check(self) -> None:
        """Ask for the command that shows that the plan is done; an empty one removes the check."""
        self._ask_command(self._owner(PLAN))

    def action_approve(self) -> None:
        """Show the check of the task if it waits for a person, else the first one that does, to approve it."""
        session, owner, waiting = self.session, self._cursor_owner(), self.proposed
        if session is None:
            return
        if owner and owner.number in waiting:
            waiting = [owner.number]
        if waiting:
            self._ask_approval(session, self._owner(waiting[0]), lambda: None)
        elif owner:
            why = "needs no approval here" if owner.check else "has no check"
            self._around.notify(Notice(f"{owner.name} {why}."))

    def _cursor_task(self) -> Task | None:
        return next((task for task in self.plan.tasks if str(task.number) == self.rows.key), None)

    def _cursor_phase(self) -> str | None:
        key = self.rows.key
        if key.startswith(PHASE):
            return key.removeprefix(PHASE)
        return next((phase.name for phase in self.plan.phases for task in phase.tasks if str(task.number) == key), None)

    def _cursor_owner(self) -> Owner | None:
        """The task with the cursor, or the plan if the cursor is on its check."""
        if self.rows.key == PLAN_ROW:
            return self._owner(PLAN)
        task = self._cursor_task()
        return self._owner(task.number) if task else None

    def _owner(self, number: int) -> Owner:
        if number == PLAN:
            return Owner(PLAN, self.plan.check, "when all tasks are done")
        task = next(task for task in self.plan.tasks if task.number == number)
        return Owner(number, task.check, f"whenever “{task.text}” is marked as done")

    def _apply(self, edit: Command) -> None:
        if session := self.session:
            self.change(partial(self.editor.apply, session.name, edit))

    def _on_task(self, edit: Callable[[Plan, Sequence[str]], Answer]) -> None:
        if task := self._cursor_task():
            self._apply(lambda plan: edit(plan, [str(task.number)]))

    def _ask(self, label: str, edit: Callable[[str], Command]) -> None:
        if session := self.session:
            apply = partial(self.editor.apply, session.name)
            self.asking.prompt.ask(label, "", lambda text: self.change(partial(apply, edit(text))), self._around.focus)

    def _ask_line(self, label: str, shown: str, edit: Callable[[str], Command]) -> None:
        """Let the person change a line, and apply the command that it leads to."""
        session = self.session
        if session is None:
            return
        apply = partial(self.editor.apply, session.name)

        def done(line: str) -> None:
            # What cannot be shown as it is stays as it is, unless the person changed it.
            if line.strip() != prompt.shown_in_field(shown):
                self.change(partial(apply, edit(line)))

        def end() -> None:
            self._set_numbers(shown=False)
            self._around.focus()

        self.asking.prompt.ask(label, shown, done, end)

    def _set_numbers(self, *, shown: bool) -> None:
        self.options = replace(self.options, numbers=shown)
        self._around.draw()

    def _edit(self, session: str, number: int, *, was: str, text: str) -> None:
        def done(typed: str) -> None:
            # A text that cannot be shown as it is stays as it is, unless the person changed it.
            if typed != prompt.shown_in_field(text) or text != was:
                self._rename(session, number, was=was, shown=typed)

        self.asking.prompt.ask(f"#{number}:", text, done, self._around.focus)

    def _rename(self, session: str, number: int, *, was: str, shown: str) -> None:
        def settle(notice: Notice) -> None:
            if notice.theirs is None:
                return
            theirs = notice.theirs
            texts: list[Line] = [
                (Span(" Somebody has changed this text meanwhile.", Role.WARNING, bold=True),),
                (Span(" 1 ", bold=True), Span("yours   ", Role.MUTED), Span(printable(shown))),
                (Span(" 2 ", bold=True), Span("theirs  ", Role.MUTED), Span(printable(theirs))),
            ]
            answers: dict[str, tuple[str, Callable[[], object]]] = {
                "1": ("keep yours", lambda: self._rename(session, number, was=theirs, shown=shown)),
                "2": ("keep theirs", lambda: None),
                "e": ("edit", lambda: self._edit(session, number, was=theirs, text=shown)),
            }
            self.asking.question.ask("", answers, self._around.focus, texts)

        self.change(partial(self.editor.rename, session, number, was, shown), settle)

    def _ask_command(self, owner: Owner) -> None:
        session, was = self.session, owner.check
        if session is None:
            return
        shown = check_text(was) if was else ""
        set_check = partial(self.editor.set_check, session.name, owner.number)

        def done(line: str) -> None:
            # A command that cannot be shown as it is stays as it is, unless the person changed it.
            if line != prompt.shown_in_field(shown):
                self.change(partial(set_check, line, was), self._look_again)

        who = "The plan" if owner.number == PLAN else owner.name
        self.asking.prompt.ask(f"{who} is done if this passes:", shown, done, self._around.focus)

    def _run_check(self, session: SessionRow, owner: Owner, run: Callable[[], Notice]) -> None:
        """Run a check, unless it runs already. One that is proposed is shown to the person first."""
        if owner.check is not None and owner.number in self.shown.checks.proposed:
            self._ask_approval(session, owner, lambda: self._run_check(session, owner, run))
            return
        try:
            self.editor.checks.begin(session.name, [owner.number])
        except Conflict as error:
            self._around.notify(Notice(sentence(error)))
            return
        self._around.draw()

        async def checked() -> None:
            notice = await self.checks.run(session.name, owner.number, run)
            self._around.notify(replace(notice, text=printable(notice.text)))
            self._look_again(notice)

        self.run_worker(checked())

    def _ask_approval(self, session: SessionRow, owner: Owner, then: Callable[[], object]) -> None:
        """Show a command whole, and ask whether it may be run as a check."""
        check = owner.check
        if check is None:
            return
        where = f" in {check.folder}" if check.folder else ""
        need = Need("", session.name, "check", check_text(check), (YES, NO), detail=f"runs{where} {owner.when}")

        def approved(notice: Notice) -> None:
            if not notice.failed:
                self.checks.approved(session.name, owner.number)
                then()
            self._look_again(notice)

        def answered(_need: Need, answer: str) -> None:
            if answer == YES:
                self.change(partial(self.editor.approve, session.name, check), approved)

        self.asking.need_panel.ask(need, 1, answered, self._around.focus)

    def _look_again(self, _notice: Notice) -> None:
        self._around.draw()
        self.look_at_checks()
