"""The plan beside the conversation: shown and edited with the keys of `tildone watch`."""

from __future__ import annotations

from tildone.overview.rows import SessionRow
from tildone.tui.editing import Notice
from tildone.tui.plan_rows import PHASE
from tildone.tui.run.drawing import Drawing
from tildone.value import replace
from tildone.views.session_state import SessionWord


class PlanPane(Drawing):
    """A run whose plan can be edited."""

    @property
    def watched(self) -> SessionRow | None:
        """The session of the plan."""
        state = self.now.state
        return SessionRow(self.backend.settings.session, self.backend.title, state.head, SessionWord.WORKING)

    def notify_change(self, notice: Notice) -> None:
        """Show what a change came to."""
        self.say(notice.text, failed=notice.failed)

    def focus_pane(self) -> None:
        """Give the keys back after a question about the plan."""
        (self._plan_list if self.plan_is_shown else self.composer).focus()

    def action_plan(self) -> None:
        """Show the plan and give it the keys; hide it if it has them."""
        if self.plan_is_shown and self._plan_list.has_focus:
            self.hide_plan()
        else:
            self._plan_wanted = True
            self.lay_out(self.size)
            self.call_after_refresh(self._plan_list.focus)
        self.draw_plan()
        self.draw()

    def hide_plan(self) -> None:
        """Hide the plan, and give the keys to the editor."""
        self._plan_wanted = None if self.plan_is_over else False
        self.lay_out(self.size)
        self.composer.focus()

    def action_filter(self) -> None:
        """Filter the tasks while the person types."""
        self.prompt.ask("/", self._plan_options.words, self._filter, self.focus_pane, self._filter)

    def action_notes(self) -> None:
        """Show all notes, or only those of tasks in progress."""
        self._plan_options = replace(self._plan_options, all_notes=not self._plan_options.all_notes)
        self.draw_plan()

    def action_fold(self) -> None:
        """Fold the phase with the cursor, or unfold it."""
        phase = self._cursor_phase()
        if phase is not None:
            self._plan_options = replace(self._plan_options, folded=self._plan_options.folded ^ {phase})
            self.draw_plan()
            self._plan_list.select(f"{PHASE}{phase}")

    def _filter(self, words: str) -> None:
        self._plan_options = replace(self._plan_options, words=words)
        self.draw_plan()
