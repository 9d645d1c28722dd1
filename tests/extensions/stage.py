"""A host for tests of extensions, with a scripted model, a recording user interface and a fake clock."""

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Any

from tests.clock import FakeClock
from tests.host import records
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import Dialect
from tildone.run.events import AnswerDone, PublicEvent
from tildone.run.extension import NoUI
from tildone.run.host import Extension, Host
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import AssistantMessage, StopReason, TextBlock, text_of, tool_call
from tildone.run.model import ChatRequest, assistant_message
from tildone.run.transcript import Transcript
from tildone.stores.memory import MemoryStore
from tildone.stores.pi.session_file import header

Json = dict[str, Any]
Answer = Json | Callable[[], Awaitable[Json]]


def completing(dialect: str, text: str = "one", *others: str) -> Json:
    """Return the call that completes the first task of a plan, beside others that are pending."""
    todos = [{"content": text, "status": "completed"}, *({"content": other, "status": "pending"} for other in others)]
    calls: dict[str, Json] = {
        "brief": {"call": ("todo", {"done": 1})},
        "indexed": {"call": ("edit_todos", {"action": "complete", "indices": [0]})},
        "phased": {"call": ("todo_write", {"ops": [{"op": "done", "task": text}]})},
        "declared": {"call": ("TodoWrite", {"summary": "s", "todos": todos})},
    }
    return calls[dialect]


def adding(dialect: str, *texts: str) -> Json:
    """Return the call that makes an empty plan these tasks."""
    calls: dict[str, Json] = {
        "brief": {"call": ("todo", {"add": list(texts)})},
        "indexed": {"call": ("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]})},
        "phased": {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": list(texts)}]}]})},
        "declared": {
            "call": ("TodoWrite", {"summary": "s", "todos": [{"content": t, "status": "pending"} for t in texts]})
        },
    }
    return calls[dialect]


class ScriptedModel:
    """Answers from a script: `{"call": (tool, arguments)}` or `{"text", "stopReason"?}`, then `ok`.

    An answer may be a coroutine function that returns it.
    """

    api = provider = id = "script"

    def __init__(self, *script: Answer) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []

    async def stream(
        self, request: ChatRequest, _signal: AbortSignal | None = None
    ) -> AsyncGenerator[AnswerDone, None]:
        self.requests.append(request)
        answer = self.script.pop(0) if self.script else {"text": "ok"}
        yield AnswerDone(self._message(await answer() if callable(answer) else answer))

    async def close(self) -> None:
        """There is nothing to close."""

    def _message(self, answer: Json) -> AssistantMessage:
        if "call" in answer:
            call = tool_call(f"call-{len(self.requests)}", *answer["call"])
            return assistant_message([call], self, StopReason.TOOL_USE, 0)
        reason = StopReason(answer.get("stopReason", "stop"))
        return assistant_message([TextBlock(answer["text"])], self, reason, 0)


class Screen(NoUI):
    """A recording user interface. `types` are the texts that the editor returns; None cancels it."""

    has_ui = True

    def __init__(self) -> None:
        self.statuses: dict[str, str | None] = {}
        self.widgets: dict[str, Sequence[str] | None] = {}
        self.notices: list[tuple[str, str]] = []
        self.edits: list[tuple[str, str]] = []
        self.types: list[str | Callable[[str], str] | None] = []
        self.says_yes = False

    def set_status(self, key: str, text: str | None) -> None:
        self.statuses[key] = text

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        del placement
        self.widgets[key] = lines

    def notify(self, message: str, kind: str = "info") -> None:
        self.notices.append((kind, message))

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        raise NotImplementedError(title, options, timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        del title, message, timeout
        return self.says_yes

    async def input(self, title: str, placeholder: str = "") -> str | None:
        raise NotImplementedError(title, placeholder)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        self.edits.append((title, prefill))
        typed = self.types.pop(0) if self.types else None
        return typed(prefill) if callable(typed) else typed


class Stage:
    """One host with its environment."""

    def __init__(
        self,
        dialect: Dialect,
        *script: Answer,
        entries: Iterable[Json] = (),
        store: Store | None = None,
        cwd: str = ".",
    ) -> None:
        self.clock = FakeClock()
        self.screen = Screen()
        self.model = ScriptedModel(*script)
        self.store = store or MemoryStore()
        self.dialect = dialect
        self.events: list[Json] = []
        self._ids = itertools.count()
        transcript = Transcript(
            header("conversation", cwd, 0), chained(entries), now=self.clock.now, new_id=self.new_id
        )
        self.host = Host(
            model=self.model, transcript=transcript, cwd=cwd, now=self.clock.now, ui=self.screen, after=self.clock.after
        )
        self.host.listen(self._record_event)

    def open_session(self, name: str) -> Session:
        """Open a session of that name in the store."""
        return Session(self.store, name, self.dialect, now=self.clock.now, new_id=self.new_id)

    async def start(self, extension: Extension) -> None:
        self.host.load([("extension", extension)])
        await self.host.start()

    async def says(self, text: str) -> None:
        """Send a prompt and wait until the host is idle."""
        await self.host.prompt(text)
        await self.host.settled()

    @property
    def entries(self) -> list[Json]:
        """The records of the current branch."""
        return [entry.record for entry in self.host.transcript.branch()]

    def messages(self, role: str) -> list[Json]:
        """Return the messages of this role, oldest first."""
        every_message = [entry["message"] for entry in self.entries if entry["type"] == "message"]
        return [message for message in every_message if message["role"] == role]

    def told(self, request: int = -1) -> list[str]:
        """Return the texts of all messages of a request to the model."""
        return [text_of(message) for message in self.model.requests[request].messages]

    def new_id(self) -> str:
        return f"n{next(self._ids)}"

    def _record_event(self, event: PublicEvent) -> None:
        record = records.event(event)
        assert record["type"] != "extension_error", record
        self.events.append({"at": self.clock.at, **record})


def chained(entries: Iterable[Json]) -> list[Json]:
    """Return the entries with ids, each a child of the previous one."""
    parents = itertools.chain([None], (f"e{number}" for number in itertools.count()))
    return [
        {**entry, "id": f"e{number}", "parentId": parent}
        for number, (entry, parent) in enumerate(zip(entries, parents, strict=False))
    ]
