"""Which plan each conversation of a run works on: the project's, a named one, or a list of its own.

A conversation that begins with a prompt has a list of its own, in the session with its id. The list follows the
conversation: it is restored from its results, for each branch. A run without a prompt works on the project's plan. The
conversation's file records the choice, as one of the options of the run.
"""

from __future__ import annotations

from tildone.config import Settings
from tildone.extensions.restoring import OWN_LIST, RUN_ENTRY, SESSION
from tildone.host.entries import CustomEntry
from tildone.host.transcript import Transcript
from tildone.host.wire import JsonObject
from tildone.value import replace


def stored_options(transcript: Transcript) -> JsonObject:
    """Return the options of the newest run of a conversation; {} if it has none."""
    for entry in reversed(transcript.branch()):
        body = entry.body
        if isinstance(body, CustomEntry) and body.custom_type == RUN_ENTRY and isinstance(body.data, dict):
            return body.data
    return {}


class RunPlan:
    """The plans of one run.

    `is_given` means that the command line names the session of the settings, for all conversations of the run. Without
    that, a conversation works on the plan that it records, else on one that the environment or a file names. Any other
    conversation has a list of its own.
    """

    def __init__(self, settings: Settings, *, is_given: bool = False) -> None:
        self._settings = settings
        self._is_given = is_given
        self._chosen: dict[str, str] = {}

    def settings_of(self, transcript: Transcript) -> Settings:
        """Return the settings, with the session of the conversation's plan."""
        return replace(self._settings, session=self.session_of(transcript))

    def session_of(self, transcript: Transcript) -> str:
        """Return the session of the conversation's plan. It stays the same until another one is chosen."""
        if transcript.id not in self._chosen:
            self._chosen[transcript.id] = self._session_of(transcript)
        return self._chosen[transcript.id]

    def has_own_list(self, transcript: Transcript) -> bool:
        return self.session_of(transcript) == transcript.id

    def use_own_list(self, transcript: Transcript) -> None:
        self._chosen[transcript.id] = transcript.id

    def use_plan(self, transcript: Transcript, session: str = "") -> None:
        """Let the conversation work on the plan of a session; by default, of the settings."""
        self._chosen[transcript.id] = session or self._settings.session

    def options_of(self, transcript: Transcript) -> JsonObject:
        return {OWN_LIST: True} if self.has_own_list(transcript) else {SESSION: self.session_of(transcript)}

    def _session_of(self, transcript: Transcript) -> str:
        if self._is_given:
            return self._settings.session
        stored = stored_options(transcript)
        if stored.get(OWN_LIST) is True:
            return transcript.id
        recorded = stored.get(SESSION)
        if isinstance(recorded, str):
            return recorded
        return self._settings.named_session or transcript.id
