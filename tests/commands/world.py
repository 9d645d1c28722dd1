"""The environment of the `/todo` vectors: conversation entries, a directory of files, an editor, a clipboard."""

from pathlib import Path
from typing import Any

from tildone.commands.answer import Answer, CopyText, OpenEditor, ReadFile, Request, WriteFile
from tildone.commands.requests import after_request, request_failed
from tildone.commands.slash import command
from tildone.core.plan import Plan
from tildone.core.reduce import reduce
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import phases_in, phases_out
from tildone.dialects.phased.entries import resumed as left_open
from tildone.dialects.phased.words import edit_reminder

Json = dict[str, Any]


class CommandWorld:
    """A minimal host for the command: it carries out requests and stores committed plans."""

    def __init__(self, setup: Json, folder: Path) -> None:
        session = setup["session"]
        self.folder = folder
        self.entries: list[Json] = list(session["entries"])
        cached = session.get("cached")
        self.cached = left_open(self._newest()) if cached is None else phases_in(cached)
        self.seen: Json = {}

    def step(self, call: Json, _vector: Json) -> Json:
        """Execute `/todo` and return what is shown and what is stored."""
        self.seen = {}
        for name, text in call.get("files", {}).items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        answer = command(call["args"].replace("{cwd}", str(self.folder)), self._current())
        if answer.request:
            answer = self._carried_out(answer.request, call)
        shown = [{"level": message.level.value, "text": message.text} for message in answer.messages]
        committed = self._committed(answer)
        files = {name: self._file(name) for name in call.get("read_files", ())}
        return {
            "shown": shown,
            "committed": committed,
            "cached_phases": phases_out(self.cached),
            "files": files,
            **self.seen,
        }

    def _current(self) -> Plan:
        newest = self._newest()
        return newest if newest.phases else self.cached

    def _newest(self) -> Plan:
        return PHASED.recover(self.entries) or Plan()

    def _committed(self, answer: Answer) -> Json | None:
        if answer.steps is None:
            return None
        outcome = reduce(self._current(), answer.steps, answer.rules(PHASED.rules))
        assert outcome.faults == ()
        self.cached = outcome.after
        entry = {
            "type": "custom",
            "customType": "user_todo_edit",
            "data": {"phases": phases_out(outcome.after)},
        }
        self.entries.append(entry)
        text = edit_reminder(outcome.after)
        return {"entry": entry, "message": {"role": "developer", "attribution": "user", "text": text}}

    def _carried_out(self, request: Request, call: Json) -> Answer:
        match request:
            case CopyText(text):
                self.seen["clipboard"] = text
                return after_request(request)
            case OpenEditor(text):
                return self._edited(request, text, call.get("editor", {"command": "none"}))
            case WriteFile(path, text):
                try:
                    (self.folder / path).write_bytes(text.encode())
                except OSError as error:
                    return request_failed(request, str(error))
                return after_request(request)
            case ReadFile(path):
                try:
                    return after_request(request, (self.folder / path).read_bytes().decode())
                except OSError as error:
                    return request_failed(request, str(error))

    def _edited(self, request: OpenEditor, text: str, editor: Json) -> Answer:
        if "command" in editor:
            return request_failed(request, "there is no such program")
        self.seen["editor_saw"] = text
        if editor.get("exit"):
            return request_failed(request, "it failed")
        return after_request(request, editor.get("text", text).removesuffix("\n"))

    def _file(self, name: str) -> str | None:
        file = self.folder / name
        return file.read_bytes().decode() if file.exists() else None
