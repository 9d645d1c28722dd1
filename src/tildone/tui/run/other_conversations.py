"""Going elsewhere: to another branch of the conversation, to a fork of it, or to another conversation."""

from __future__ import annotations

import asyncio

from textual import on

from tildone.errors import TildoneError
from tildone.host.entries import LabelEntry, MessageEntry
from tildone.host.messages import UserMessage, text_of
from tildone.host.transcript import Transcript as Conversation
from tildone.tui.run.screen_commands import ScreenCommands
from tildone.tui.run.sessions_screen import SessionsScreen, list_conversations
from tildone.tui.run.tree_screen import TreeChoice, TreeScreen
from tildone.tui.transcript.blocks import PersonMessage
from tildone.tui.transcript.widget import TranscriptPane


class OtherConversations(ScreenCommands):
    """A run that can go on elsewhere. The running turn is stopped first."""

    def action_tree(self) -> None:
        """Show the conversation as a tree."""
        if self.host is not None and len(self.screen_stack) == 1:
            self.push_screen(
                TreeScreen(self.host.transcript, self._palette, self.backend.title, self.keys), self._tree_chosen
            )

    def action_sessions(self) -> None:
        """List the conversations."""
        if self.host is not None and len(self.screen_stack) == 1:
            self.spawn(self._list_conversations())

    @on(TranscriptPane.BlockChosen)
    def on_block_chosen(self, message: TranscriptPane.BlockChosen) -> None:
        """Fork from a message of the person, or edit it and go another way."""
        entry = self._entry_of(message.number)
        if entry is None:
            self.say("Only one of your messages can be forked or edited.", failed=True)
        elif message.what == "fork":
            self.spawn(self._fork(entry))
        else:
            self.spawn(self._edit_message(entry))

    def _tree_chosen(self, choice: TreeChoice | None) -> None:
        self.composer.focus()
        host = self.host
        if choice is None or host is None:
            return
        match choice.what:
            case "go":
                self.spawn(self._go_to(choice.node.tip))
            case "fork":
                self.spawn(self._fork(choice.node.id))
            case _:
                host.transcript.append(LabelEntry(choice.node.id, choice.label or None))
                self.say(f"Labelled “{choice.label}”." if choice.label else "The label is removed.")

    async def _go_to(self, entry_id: str | None) -> None:
        if self.host is not None:
            await self.host.turn_to(entry_id)
            self._shown_again()

    async def _fork(self, entry_id: str) -> None:
        """Begin a new conversation from before a message, with its text in the editor."""
        host = self.host
        if host is None:
            return
        try:
            made, text = self.backend.conversations.fork(host.transcript, entry_id)
        except TildoneError as error:
            self.say(str(error), failed=True)
            return
        await self._use(made, "fork")
        self.composer.fill(text)
        self.say("A new conversation; files stay as they are.")

    async def _edit_message(self, entry_id: str) -> None:
        """Go on from before a message, with its text in the editor; the branch stays."""
        host = self.host
        if host is None:
            return
        entry = host.transcript.entry(entry_id)
        text = text_of(entry.body.message) if isinstance(entry.body, MessageEntry) else ""
        await self._go_to(entry.parent_id)
        self.composer.fill(text)
        self.composer.focus()

    async def _list_conversations(self) -> None:
        found = await asyncio.to_thread(list_conversations, self.backend.conversations)
        here = self.host.transcript.file if self.host else None
        self.push_screen(SessionsScreen(found, here, self._palette), self._conversation_chosen)

    def _conversation_chosen(self, file: str | None) -> None:
        self.composer.focus()
        if file is not None:
            self.spawn(self._open(file))

    async def _open(self, file: str) -> None:
        try:
            conversation = await asyncio.to_thread(self.backend.conversations.load, file)
        except (TildoneError, OSError) as error:
            self.say(str(error), failed=True)
            return
        await self._use(conversation, "resume")

    async def _use(self, conversation: Conversation, reason: str) -> None:
        host = self.host
        if host is not None:
            await host.open(conversation, reason)
            self._shown_again()

    def _shown_again(self) -> None:
        self.view.clear()
        self.show_conversation()
        self.draw()

    def _entry_of(self, number: int) -> str | None:
        """The entry of a block, if it is a message of the person: the newest on this branch with its text."""
        block = next((entry.block for entry in self.view.document.entries if entry.id == number), None)
        if self.host is None or not isinstance(block, PersonMessage):
            return None
        shown = block.text.partition(" … (")[0]
        for entry in reversed(self.host.transcript.branch()):
            message = entry.body.message if isinstance(entry.body, MessageEntry) else None
            if isinstance(message, UserMessage) and text_of(message).strip().startswith(shown):
                return entry.id
        return None
