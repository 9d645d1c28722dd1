"""What keys do to sessions and plans: each action asks for what it needs, then hands a command to the editor."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from textual.app import App

from tildone.app.edits import added_after, moved_by, toggled
from tildone.commands import edits
from tildone.core.plan import Plan, Status, Task
from tildone.formats.markdown.writer import portable_checklist
from tildone.kit.theme import Role, Span
from tildone.log.events import Directive
from tildone.log.needs import Need
from tildone.overview.rows import SessionRow
from tildone.tui.copying import copied_words, copy_by_tool
from tildone.tui.editing import Editor, Notice
from tildone.tui.need_panel import NeedPanel
from tildone.tui.palette import Palette
from tildone.tui.plan_rows import PHASE
from tildone.tui.prompt import Prompt, QuestionLine, shown_in_field
from tildone.tui.row_list import Line, RowList
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable, visible

if TYPE_CHECKING:
    from tildone.app.edits import Command


class Actions(App[None]):
    """The actions on the session that is shown. Changes are made in a thread, one after the other."""

    def __init__(self, editor: Editor, palette: Palette) -> None:
        super().__init__(ansi_color=palette.is_ansi)
        self._editor = editor
        # Not found by queries, which search the screen on top: that may be the help.
        self.prompt, self.question = Prompt(palette), QuestionLine(palette)
        self.need_panel = NeedPanel(palette)
        self._changes = ThreadPoolExecutor(1)

    @property
    def watched(self) -> SessionRow | None:
        """The session that is shown."""
        raise NotImplementedError

    @property
    def plan(self) -> Plan:
        """The plan of that session; empty until it is read."""
        raise NotImplementedError

    @property
    def plan_list(self) -> RowList:
        """The list of the tasks of the plan."""
        raise NotImplementedError

    def notify_change(self, notice: Notice) -> None:
        """Show what a change came to, and read the store again."""
        raise NotImplementedError

    def focus_pane(self) -> None:
        """Give the keys back to the pane that had them before a question."""
        raise NotImplementedError

    def action_close_task(self, status: str) -> None:
        """Close the task; a closed one is opened again."""
        to = Status(status)
        self._on_task(lambda task: toggled(task.number, close=lambda plan: edits.close(plan, [str(task.number)], to)))

    def action_start(self) -> None:
        """Mark the task as in progress."""
        self._on_task(lambda task: lambda plan: edits.start(plan, [str(task.number)]))

    def action_remove(self) -> None:
        """Remove the task."""
        self._on_task(lambda task: lambda plan: edits.remove(plan, [str(task.number)]))

    def action_reorder(self, rows: int) -> None:
        """Move the task."""
        self._on_task(lambda task: moved_by(task.number, rows))

    def action_block(self) -> None:
        """Ask what the task waits for, and block it; a blocked one is unblocked."""
        task = self._cursor_task()
        if task and task.status is Status.BLOCKED:
            self._on_task(lambda task: lambda plan: edits.unblock(plan, [str(task.number)]))
        elif task:
            number = str(task.number)
            self._ask(f"#{number} waits for:", lambda reason: lambda plan: edits.block(plan, [number], reason.strip()))

    def action_note(self) -> None:
        """Ask for a note, and add it to the task."""
        if task := self._cursor_task():
            number = str(task.number)
            self._ask(f"Note on #{number}:", lambda text: lambda plan: edits.note(plan, [number], text))

    def action_add(self) -> None:
        """Ask for a task, and add it after the one with the cursor, or to the phase with the cursor."""
        if self.watched:
            phase, task = self._cursor_phase(), self._cursor_task()
            self._ask("Add:", lambda text: added_after(task.number if task else None, text, phase))

    def action_add_phase(self) -> None:
        """Ask for a phase and its first task, and add both."""
        session = self.watched
        if session is None:
            return

        def ask_task(phase: str) -> None:
            if phase.strip():
                self._ask(f"First task of {phase.strip()}:", lambda text: lambda plan: edits.add(plan, [text], phase))

        self.prompt.ask("New phase:", "", ask_task, self.focus_pane)

    def action_edit(self) -> None:
        """Let the person change the text of the task."""
        session, task = self.watched, self._cursor_task()
        if session and task:
            self._edit(session.name, task.number, was=task.text, text=task.text)

    def action_copy_task(self) -> None:
        """Copy the text of the task; of a folded phase, its name."""
        task = self._cursor_task()
        text = task.text if task else self._cursor_phase()
        if text:
            self.copy_text(visible(text))

    def action_copy_plan(self) -> None:
        """Copy the plan as Markdown."""
        if self.plan.tasks:
            self.copy_text(portable_checklist(self.plan))

    def copy_text(self, text: str) -> None:
        """Copy a text by the terminal, and by the platform's tool; say what came of it."""
        self.copy_to_clipboard(text)
        self._change(lambda: Notice(copied_words(text, certain=copy_by_tool(text)).capitalize()))

    def action_undo(self) -> None:
        """Undo the newest change."""
        if session := self.watched:
            self._change(partial(self._editor.undo, session.name))

    def action_redo(self) -> None:
        """Redo the change that was undone last."""
        if session := self.watched:
            self._change(partial(self._editor.redo, session.name))

    def action_answer(self) -> None:
        """Show the oldest open question of the session, to be answered."""
        session = self.watched
        if session is None or not session.needs:
            self.notify_change(Notice("There is no open question here."))
            return
        need = session.needs[0]
        if need.options:
            self.need_panel.ask(need, len(session.needs), self._answer, self.focus_pane)
        else:
            self.need_panel.ask(need, len(session.needs), self._answer, lambda: None)
            self.prompt.ask("Answer:", "", lambda text: self._answer(need, text), self._end_answer)

    def _end_answer(self) -> None:
        self.need_panel.close()
        self.focus_pane()

    def _answer(self, need: Need, answer: str) -> None:
        self._change(partial(self._editor.answer, need.id, answer))

    def action_steer(self, directive: str) -> None:
        """Pause, stop or resume the agent. A stop is asked for first, with the name of the session."""
        session = self.watched
        if session is None:
            return
        steer = partial(self._change, partial(self._editor.steer, session.name, Directive(directive)))
        if Directive(directive) is not Directive.STOP:
            steer()
            return
        line = (
            Span(f" Stop the agent on {printable(session.title)}?", Role.WARNING, bold=True),
            *(Span("  y", bold=True), Span(" stop it", Role.MUTED)),
            *(Span("  n", bold=True), Span(" leave it", Role.MUTED)),
        )
        self.question.ask(line, {"y": steer, "n": lambda: None}, self.focus_pane)

    def _edit(self, session: str, number: int, *, was: str, text: str) -> None:
        def done(typed: str) -> None:
            # A text that cannot be shown as it is stays as it is, unless the person changed it.
            if typed != shown_in_field(text) or text != was:
                self._rename(session, number, was=was, shown=typed)

        self.prompt.ask(f"#{number}:", text, done, self.focus_pane)

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
            line: Line = (
                *(Span(" 1", bold=True), Span(" keep yours  ", Role.MUTED)),
                *(Span("2", bold=True), Span(" keep theirs  ", Role.MUTED)),
                *(Span("e", bold=True), Span(" edit", Role.MUTED)),
            )
            answers: dict[str, Callable[[], object]] = {
                "1": lambda: self._rename(session, number, was=theirs, shown=shown),
                "2": lambda: None,
                "e": lambda: self._edit(session, number, was=theirs, text=shown),
            }
            self.question.ask(line, answers, self.focus_pane, texts)

        self._change(partial(self._editor.rename, session, number, was, shown), settle)

    def _ask(self, label: str, edit: Callable[[str], Command]) -> None:
        """Ask for a text and apply the command that it leads to."""
        session = self.watched
        if session:
            name = session.name
            self.prompt.ask(
                label, "", lambda text: self._change(partial(self._editor.apply, name, edit(text))), self.focus_pane
            )

    def _on_task(self, edit: Callable[[Task], Command]) -> None:
        session, task = self.watched, self._cursor_task()
        if session and task:
            self._change(partial(self._editor.apply, session.name, edit(task)))

    def _cursor_task(self) -> Task | None:
        """The task with the cursor."""
        key = self.plan_list.key
        return next((task for task in self.plan.tasks if str(task.number) == key), None)

    def _cursor_phase(self) -> str | None:
        """The name of the phase with the cursor; None if there is none."""
        key = self.plan_list.key
        if key.startswith(PHASE):
            return key.removeprefix(PHASE)
        return next((phase.name for phase in self.plan.phases for task in phase.tasks if str(task.number) == key), None)

    def _change(self, change: Callable[[], Notice], then: Callable[[Notice], object] = lambda _: None) -> None:
        async def changed() -> None:
            notice = await get_running_loop().run_in_executor(self._changes, change)
            self.notify_change(replace(notice, text=printable(notice.text)))
            then(notice)

        self.run_worker(changed())
