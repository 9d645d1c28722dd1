"""Going round the panes, the offers of the last block, and the person's own editor and pager."""

from __future__ import annotations

import asyncio
from typing import Any

from textual import on

from tildone.files.editor import edit_text, editor_command, run_editor
from tildone.tui.run import failures
from tildone.tui.run.composer import Composer
from tildone.tui.run.external_editor import existing_file, page_text
from tildone.tui.run.other_conversations import OtherConversations
from tildone.tui.transcript.widget import TranscriptPane

NO_EDITOR = "There is no editor: set $VISUAL or $EDITOR"


class PaneActions(OtherConversations):
    """A run with its panes."""

    @on(TranscriptPane.OfferChosen)
    def on_offer(self, message: TranscriptPane.OfferChosen) -> None:
        """Try again, choose another model, or show what was sent."""
        match message.key:
            case failures.AGAIN:
                self.retry()
            case failures.MODEL:
                self.composer.fill("/model ")
                self.composer.focus()
            case _:
                self.show_request()

    @on(TranscriptPane.Copied)
    def on_copied(self, message: TranscriptPane.Copied) -> None:
        """Say what was copied."""
        self.say(message.words)

    @on(TranscriptPane.PagerWanted)
    async def on_pager_wanted(self, message: TranscriptPane.PagerWanted) -> None:
        """Show a text in the person's pager."""
        with self.suspend():
            await asyncio.to_thread(page_text, message.text)
        self.refresh(layout=True)

    @on(TranscriptPane.FileWanted)
    async def on_file_wanted(self, message: TranscriptPane.FileWanted) -> None:
        """Open a file in the person's editor."""
        path = existing_file(message.path, self.backend.conversations.cwd)
        if not editor_command():
            self.say(NO_EDITOR, failed=True)
            return
        if path is None:
            self.say(f"There is no file {message.path}", failed=True)
            return
        with self.suspend():
            why = await asyncio.to_thread(run_editor, path)
        self.refresh(layout=True)
        if why:
            self.say(f"The editor failed: {why}", failed=True)

    def action_next_pane(self) -> None:
        """Complete what is typed; else give the keys to the next pane: question, editor, conversation, plan."""
        if self.composer.has_focus and self.composer.completions.candidates:
            self.composer.accept(self.composer.completions.candidate)
            self.composer.post_message(Composer.Typing())
        else:
            self._go_round(1)

    def action_previous_pane(self) -> None:
        """Give the keys to the previous pane."""
        self._go_round(-1)

    def _go_round(self, step: int) -> None:
        panes: list[Any] = [self.composer, self.view]
        panes += [self._plan_list] if self.plan_is_shown else []
        if self.ui.question is not None:
            panes.insert(1, self.panel.body)
        held = next((place for place, pane in enumerate(panes) if pane.has_focus), 0)
        if self.panel.has_keys:
            held = 1
        pane = panes[(held + step) % len(panes)]
        if pane is self.panel.body:
            self.panel.take_keys()
        else:
            pane.focus()
        self.call_after_refresh(self.panel.body.build)

    def action_edit_outside(self) -> None:
        """Edit what is typed in the person's own editor."""
        self.spawn(self._edit_draft())

    async def _edit_draft(self) -> None:
        edited = await self.edit_outside(self.composer.text)
        if edited is not None:
            self.composer.fill(edited.rstrip("\n"))

    async def edit_outside(self, text: str) -> str | None:
        """Let the person edit a text in their own editor; the screen comes back afterwards."""
        if not editor_command():
            self.say(NO_EDITOR, failed=True)
            return None
        with self.suspend():
            edited = await asyncio.to_thread(edit_text, text)
        self.refresh(layout=True)
        return edited
