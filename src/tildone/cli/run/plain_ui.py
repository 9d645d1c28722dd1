"""Questions and messages at a plain terminal. A question is answered with a line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from tildone.cli.run.lines import LineOutput
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import LINE_BREAK, Role, Span
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.extensions.indexed import ACTIVE_STATUS, SUMMARY_STATUS
from tildone.run.extensions.phased import PANEL
from tildone.run.extensions.skeleton import STATUS
from tildone.run.kit.components import Text
from tildone.run.metering import RunMeter
from tildone.run.tools.result_view import diff_role

ROLES = {"info": Role.MUTED, "warning": Role.WARNING, "error": Role.ERROR}

PLAN_KEYS = frozenset((STATUS, SUMMARY_STATUS, ACTIVE_STATUS, PANEL))
"""What extensions show of the plan. Calls of its tools print it anyway."""

ANSWER = "Answer: "
REASON = "Why not? The model reads it. Enter alone says no without a reason: "
EXPLAINED = """\
{once}  allows this one call. The next one is asked for again.
{always}  allows everything that is named behind it, until this conversation ends. A * is any arguments, except
   those that run other programs or write other files.
{plan}n  refuses this call; the model is told, and goes on.
r  refuses it, and tells the model your reason.
Ctrl-C refuses it and stops the model. Enter alone does nothing."""
PLAN_EXPLAINED = "p  lists the commands in the open tasks of the plan, and allows exactly those if you type it again.\n"

T = TypeVar("T")
Question = Callable[[], Coroutine[Any, Any, T | None]]
Show = Callable[[Text], None]


class PlainUI:
    """The UI of a plain terminal. `discard_typed` is called before a question is shown."""

    has_ui = True

    def __init__(
        self,
        output: LineOutput,
        show: Show,
        edit: Callable[[str], Awaitable[str | None]],
        discard_typed: Callable[[], None],
        meter: RunMeter,
    ) -> None:
        self._output = output
        self._show = show
        self._edit = edit
        self._discard_typed = discard_typed
        self._meter = meter
        self._line: asyncio.Future[str | None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._shown: dict[str, str] = {}

    @property
    def is_asking(self) -> bool:
        return self._line is not None

    def answer(self, line: str) -> None:
        if self._line is not None and not self._line.done():
            self._line.set_result(line)

    def decline(self) -> None:
        if self._line is not None and not self._line.done():
            self._line.set_result(None)

    def set_status(self, key: str, text: str | None) -> None:
        self._print(key, text or "", Role.ACCENT)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:  # noqa: ARG002  there is one place
        """Print a widget that has changed."""
        self._print(key, "\n".join(lines or ()), Role.MUTED)

    def notify(self, message: str, kind: str = "info") -> None:
        self._show(Text(message, ROLES.get(kind, Role.MUTED)))

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        numbered = {str(number): option for number, option in enumerate(options, 1)}
        chosen = await self._ask(lambda: self._choose(title, numbered), timeout)
        return numbered[chosen] if chosen else None

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        question = f"{title}\n{message}" if message else title
        return await self._ask(lambda: self._choose(question, {"y": "yes", "n": "no"}), timeout) == "y"

    async def input(self, title: str, placeholder: str = "") -> str | None:
        async def question() -> str | None:
            self._show_title(f"{title}\n{placeholder}" if placeholder else title)
            return await self._read(ANSWER)

        return await self._ask(question)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines, in the person's own editor."""
        self.notify(title)
        return await self._edit(prefill)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        return await self._ask(lambda: self._permission(request))

    async def _ask(self, question: Question[T], seconds: float | None = None) -> T | None:
        """Ask one question at a time; return None if the person declines it, or the time is over."""
        async with self._one_at_a_time:
            self._meter.pause()
            self._discard_typed()
            before = self._output.prompt
            self._output.end_row()
            try:
                return await asyncio.wait_for(question(), seconds)
            except TimeoutError:
                return None
            finally:
                self._meter.resume()
                if before:
                    self._output.ask(before)

    async def _choose(self, title: str, labels: Mapping[str, str]) -> str | None:
        """Return the key of a choice; None if the person declines."""
        self._show_title(title)
        return await self._choice(labels)

    async def _choice(self, labels: Mapping[str, str]) -> str | None:
        for key, label in labels.items():
            self._show(Text((Span(f"  {key}", Role.ACCENT), Span(f"  {label}", Role.MUTED))))
        while (line := await self._read(ANSWER)) is not None:
            typed = line.strip()
            found = typed if typed in labels else typed.lower()
            if found in labels:
                return found
            if typed:
                self.notify(f"That is no answer. Type one of {' '.join(labels)} and Enter", "warning")
        return None

    async def _permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask for a permission. A dangerous command is allowed with a capital letter, and nothing stays hidden."""
        once, always = ("Y", "A") if request.caution else ("y", "a")
        count = format_count(len(request.plan), "command")
        plan = {"p": f"all {count} of the plan, listed first"} if request.plan else {}
        labels = {once: "once", always: f"always {request.scope}: {request.always}"} | plan | {"n": "no"}
        labels |= {"r": "no, with a reason for the model", "?": "explain"}
        answers = {once: PermissionAnswer.ONCE, always: PermissionAnswer.ALWAYS, "n": PermissionAnswer.NO}
        self._show_title(request.question)
        if request.details:
            self._show(_details(request))
        if request.caution:
            self._show(Text(f"  {request.caution}", Role.ERROR))
        while (key := await self._choice(labels)) is not None:
            if key in answers:
                return PermissionReply(answers[key])
            if key == "r":
                reason = await self._read(REASON)
                return None if reason is None else PermissionReply(PermissionAnswer.NO, reason.strip())
            if key == "p":
                if await self._confirms_plan(request, count):
                    return PermissionReply(PermissionAnswer.PLAN)
                continue
            explained = EXPLAINED.format(once=once, always=always, plan=PLAN_EXPLAINED if request.plan else "")
            self.notify(explained)
        return None

    async def _confirms_plan(self, request: PermissionRequest, count: str) -> bool:
        listed = "\n".join(f"  {printable(command)}" for command in request.plan)
        self.notify(f"Commands in the open tasks of the plan:\n{listed}")
        self.notify(f"  p  again: allow exactly the {count} listed above; anything else: back")
        return ((await self._read(ANSWER)) or "").strip().lower() == "p"

    async def _read(self, prompt: str) -> str | None:
        """Return the next line; None if the person declines to type one."""
        self._line = asyncio.get_running_loop().create_future()
        self._output.ask(prompt)
        try:
            return await self._line
        finally:
            self._line = None
            self._output.end_row()

    def _show_title(self, title: str) -> None:
        first, *more = title.split("\n")
        self._show(Text(f"? {first}", Role.WARNING, bold=True))
        if more:
            self._show(Text("\n".join(f"  {line}" for line in more)))

    def _print(self, key: str, text: str, role: Role) -> None:
        """Print a text unless it differs only in numbers from what was printed: a countdown is one line."""
        changed = re.sub(r"\d+", "", text)
        if text and key not in PLAN_KEYS and self._shown.get(key) != changed:
            self._show(Text(text, role))
        self._shown[key] = changed


def _details(request: PermissionRequest) -> Text:
    """Return the command, or the coloured diff. The request is sanitized."""
    spans: list[Span] = []
    for line in request.details:
        role = diff_role(line) if request.is_diff else Role.TEXT
        spans += [LINE_BREAK, Span(f"  {line}" if line else "", role)]
    return Text(tuple(spans[1:]))
