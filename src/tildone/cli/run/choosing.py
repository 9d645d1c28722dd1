"""The choice of a run's conversation: a new one, one that is continued, or a fork."""

from __future__ import annotations

import os

from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound, StoreError
from tildone.extensions.restoring import OWN_LIST, SESSION
from tildone.files.durable import make_folder
from tildone.host.conversations import Conversations
from tildone.host.transcript import Transcript
from tildone.value import value
from tildone.wiring.run_plan import stored_options

STARTUP, RESUME, FORK = "startup", "resume", "fork"
"""Why a conversation is opened, in pi's words."""


@value
class ChosenConversation:
    """The conversation of a run, why it is opened, and the text of the message that it was forked at, if any."""

    transcript: Transcript
    reason: str = STARTUP
    forked_text: str | None = None


def choose_conversation(conversations: Conversations, given: ParsedArgs) -> ChosenConversation:
    """Return the conversation that the command line names. Without one that could be continued, it is a new one.

    Raises:
        NotFound: there is no such conversation.
    """
    existing = _existing(conversations, given)
    if given.has("fork"):
        source = existing or conversations.latest()
        if source is None:
            raise NotFound("there is no conversation here to fork")
        transcript, text = conversations.fork(source, given.options["fork"])
        return ChosenConversation(transcript, FORK, text)
    if existing is not None:
        return ChosenConversation(existing, RESUME)
    return ChosenConversation(conversations.new())


def check_writable(folder: str) -> None:
    """Check that conversations can be stored in a folder; it is created if it is missing.

    Raises:
        StoreError: they cannot.
    """
    advice = "choose another folder with --session-dir, or store nothing with --no-session"
    try:
        make_folder(folder)
    except StoreError as error:
        raise StoreError(f"conversations cannot be stored: {error}; {advice}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(f"conversations cannot be stored: {folder} is not writable; {advice}")


def _existing(conversations: Conversations, given: ParsedArgs) -> Transcript | None:
    if given.has("resume"):
        return conversations.find(given.options["resume"])
    if not given.has("continue"):
        return None
    session = given.options.get("session")
    if session is None:
        return conversations.latest()
    return next((found for found in conversations.newest_first() if _works_on(found, session)), None)


def _works_on(conversation: Transcript, session: str) -> bool:
    stored = stored_options(conversation)
    return session in (stored.get(SESSION), conversation.id if stored.get(OWN_LIST) else None)
