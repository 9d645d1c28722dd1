"""The modes of `tildone run`: full screen, plain lines at a terminal, and for programs."""

import asyncio
import json
import os
import re
import select
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from tildone.base import closest, did_you_mean, replace
from tildone.base.desktop import copy_to_clipboard, edit_text, editor_command, terminal_copy
from tildone.cli import INTERRUPTED
from tildone.cli.output import columns, put_raw, put_spans
from tildone.cli.run.lines import EventRenderer, LineOutput, RunOutcome, report_on_stderr
from tildone.cli.run.setup import RunSetup, command_list
from tildone.cli.table import ParsedArgs
from tildone.plan.text.amounts import copied_words, format_count
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import LINE_BREAK, Role, Span
from tildone.run.asking import unattended_ui
from tildone.run.codec import encode_event
from tildone.run.events import MessageUpdate, PublicEvent
from tildone.run.extension import UI, NoUI, PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.extensions.indexed import ACTIVE_STATUS, SUMMARY_STATUS
from tildone.run.extensions.phased import PANEL
from tildone.run.extensions.skeleton import STATUS
from tildone.run.host import Host
from tildone.run.kit.components import Markdown, Text
from tildone.run.messages import NO_ANSWER, JsonObject, last_answer, last_text, text_of
from tildone.run.metering import RunMeter
from tildone.run.tools import typed
from tildone.run.tools.builtin import diff_role
from tildone.run.tools.commands import on_signals
from tildone.run.turn_loop import Delivery


async def run_headless(setup: RunSetup, host: Host) -> RunOutcome:
    received: asyncio.Queue[int] = asyncio.Queue()
    async with closing(host):
        with on_signals(received.put_nowait):
            await host.start(setup.start_reason)
            await host.prompt(setup.prompt or "")
            over, signalled = asyncio.ensure_future(host.over()), asyncio.ensure_future(received.get())
            await asyncio.wait({over, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if signalled.done():
                host.request_abort("interrupted")
                return setup.report.interrupted(host, 128 + signalled.result())
            signalled.cancel()
            over.result()
            return setup.report.outcome(host)


@asynccontextmanager
async def closing(host: Host) -> AsyncIterator[Host]:
    """Close the host and its model at the end, even after an error."""
    try:
        yield host
    finally:
        try:
            await host.close()
        finally:
            await host.model.close()


async def run_json_mode(setup: RunSetup) -> int:
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open(unattended_ui(os.environ))
    _put(host.transcript.header)
    host.listen(lambda event: _put(encode_event(event)))
    return report_on_stderr(await run_headless(setup, host))


def _put(record: JsonObject) -> None:
    sys.stdout.write(f"{json.dumps(record)}\n")
    sys.stdout.flush()


async def run_print_mode(setup: RunSetup) -> int:
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open()
    if sys.stderr.isatty():
        renderer = EventRenderer(host, LineOutput(sys.stderr))
        # Streamed text is left out: the last answer is printed anyway.
        host.listen(lambda event: renderer.render(event) if not isinstance(event, MessageUpdate) else None)
    outcome = await run_headless(setup, host)
    answer = last_answer(host.transcript.messages())
    if answer is not None and text_of(answer):
        put_raw(text_of(answer))
    return report_on_stderr(outcome)


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


class PlainUI(UI):
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


PROMPT = "> "
COMMAND = re.compile(r"/(?P<name>[a-z]\w*)(?:\s.*)?", re.DOTALL)
ESCAPED = "//"
"""The beginning of a message that begins with a slash."""

CONTINUED = "\\"
"""At the end of a line, it makes a line break and does not send the line."""

PASTED_COMMAND = "Several lines that begin with ! are not run: type the command by itself"
QUIT = ("quit", "exit")
EXPAND, COPY = "expand", "copy"
OWN_COMMANDS = (
    ("/quit", "leave; ctrl+d does, too"),
    (f"/{EXPAND}", "show results expanded; again: collapsed"),
    (f"/{COPY}", "copy the last answer"),
    *typed.HELP,
)

_KEYS = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|O.|.)?|[\x00-\x08\x0b-\x1f\x7f]")
"""Keys that the terminal passes on but that are no text, such as arrows."""


class PlainRun:
    """One run at a terminal. Without a prompt it continues until the person leaves."""

    def __init__(self, setup: RunSetup, meter: RunMeter) -> None:
        self._setup = setup
        self._meter = meter
        self._fd = sys.stdin.fileno()
        self._output = LineOutput(sys.stdout)
        self._ui = PlainUI(self._output, self._show, self._edit_text, self._discard_typed, meter)
        self.host = setup.open(self._ui)
        self.renderer = EventRenderer(self.host, self._output)
        self._commands = typed.TypedCommands()
        self._stays_open = setup.prompt is None
        self._loop = asyncio.get_running_loop()
        self._leaving: asyncio.Future[int] = self._loop.create_future()
        self._typed = asyncio.Event()
        self._unfinished = b""
        self._begun = ""
        self._in_editor = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self) -> RunOutcome:
        self.host.listen(self._handle)
        self._loop.add_reader(self._fd, self._read)
        try:
            async with closing(self.host):
                with on_signals(self._signalled):
                    await self.host.start(self._setup.start_reason)
                    if self._setup.prompt is None:
                        self._show(
                            Text(f"{self.host.model.id}: say what is to be done; /help lists commands", Role.DIM)
                        )
                    else:
                        await self.host.prompt(self._setup.prompt)
                    outcome = await self._until_over()
        finally:
            self._loop.remove_reader(self._fd)
            self._output.end_row()
        return outcome

    def _handle(self, event: PublicEvent) -> None:
        self._meter.feed(event)
        self.renderer.render(event)

    async def _until_over(self) -> RunOutcome:
        while True:
            await self._unless_leaving(self._over())
            if self._leaving.done():
                return self._left(self._leaving.result())
            if not self._stays_open:
                return self._setup.report.outcome(self.host)
            if not self._tasks:
                self._output.ask(PROMPT)
            await self._unless_leaving(self._typed.wait())
            self._typed.clear()

    async def _over(self) -> None:
        await self.host.over()
        await self._commands.over()

    def _left(self, code: int) -> RunOutcome:
        """Return the outcome after the person has left, or a signal has ended the program."""
        if code:
            return self._setup.report.interrupted(self.host, code)
        spoken = bool(self.host.transcript.messages())
        return RunOutcome(0, next_step=self._setup.report.next_step(self.host) if spoken else "")

    async def _unless_leaving(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        task.cancel()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 65536)
            while data.endswith(b"\n") and select.select([self._fd], [], [], 0)[0]:
                more = os.read(self._fd, 65536)
                if not more:
                    break
                data += more
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._leave(0)
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        if lines:
            self._output.entered()
            self._enter([_KEYS.sub("", line.decode("utf-8", "replace")) for line in lines])

    def _enter(self, lines: list[str]) -> None:
        if self._ui.is_asking:
            self._ui.answer("\n".join(lines))
            return
        if self.host.pending:
            # The person types, so nothing is continued without them.
            self._stays_open = True
            self._spawn(self.host.interrupt())
        for text in _messages(lines):
            several = "\n" in text.replace(f"{CONTINUED}\n", "")
            if several and text.startswith(typed.SIGN) and not self._begun:
                # It was pasted: nobody has seen the command before it would run.
                self._show(Text(PASTED_COMMAND, Role.WARNING))
            elif text.endswith(CONTINUED):
                self._begun += text.removesuffix(CONTINUED) + "\n"
            elif message := (self._begun + text).strip():
                self._begun = ""
                self._spawn(self._deliver(message))
        self._typed.set()

    async def _deliver(self, text: str) -> None:
        """Run a command; send anything else to the model, before its next request if it is working."""
        if text.startswith(typed.SIGN):
            if problem := await self._commands.run(self.host, text):
                self._show(Text(problem, Role.WARNING))
            return
        command = COMMAND.fullmatch(text)
        match command["name"] if command else "":
            case name if name in QUIT:
                self._leave(0)
            case "help":
                self._show(Text(command_list(self.host, OWN_COMMANDS), Role.MUTED))
            case name if name == EXPAND:
                self.renderer.toggle_expanded()
            case name if name == COPY:
                await self._copy_answer()
            case name if name and name not in self.host.commands:
                close = [f"/{known}" for known in closest(name, (*self.host.commands, *QUIT, EXPAND, COPY))]
                hint = did_you_mean(close) if close else "/help lists them"
                self._show(Text(f"There is no command /{name}; {hint}", Role.WARNING))
            case "" if text.startswith((ESCAPED, typed.ESCAPED)):
                await self.host.steer(text[1:])
            case _:
                await self.host.prompt(text, behavior=Delivery.STEER)

    async def _copy_answer(self) -> None:
        text = last_text(self.host.transcript.messages())
        certain = bool(text) and await asyncio.to_thread(copy_to_clipboard, text)
        if not text:
            self._show(Text(NO_ANSWER, Role.WARNING))
        elif not certain and os.environ.get("TERM") == "dumb":
            self._show(Text("No clipboard can be reached from here", Role.WARNING))
        else:
            if not certain:
                self._output.write(terminal_copy(text))
            self._show(Text(copied_words(text, certain=certain), Role.DIM))

    def _signalled(self, number: int) -> None:
        """Handle a signal. Ctrl-C ends the first of: a question, a typed command, a turn, a countdown, the program."""
        if number != signal.SIGINT:
            self._leave(128 + number)
        elif self._in_editor:
            return
        elif self._commands.is_running and not self._ui.is_asking:
            self._output.end_row()
            self._commands.stop()
        elif self._ui.is_asking or self.host.is_running:
            self._output.end_row()
            self._ui.decline()
            running = self.host.signal
            if running is not None and running.aborted:
                self._leave(INTERRUPTED)
            self.host.request_abort()
        elif self.host.pending and self._stays_open:
            self._spawn(self.host.interrupt())
        else:
            self._leave(INTERRUPTED)

    def _leave(self, code: int) -> None:
        if not self._leaving.done():
            self._leaving.set_result(code)

    def _discard_typed(self) -> None:
        """Discard what was typed before a question is shown, so that it does not answer it."""
        import termios  # noqa: PLC0415  not on every system; `is_interactive` has checked

        self._unfinished = b""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    async def _edit_text(self, text: str) -> str | None:
        """Let the person edit the text in $VISUAL or $EDITOR; return None if there is no editor or it failed."""
        if not editor_command():
            return None
        self._in_editor = True
        self._loop.remove_reader(self._fd)
        try:
            return await asyncio.to_thread(edit_text, text)
        finally:
            self._in_editor = False
            self._loop.add_reader(self._fd, self._read)

    def _show(self, text: Text) -> None:
        self.renderer.put(text)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        def end(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            self._typed.set()

        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(end)


def _messages(lines: Sequence[str]) -> list[str]:
    """Return lines that arrived together as one message. Each command is one of its own."""
    messages: list[str] = []
    for line in lines:
        if messages and not line.startswith("/") and not messages[-1].startswith("/"):
            messages[-1] += f"\n{line}"
        else:
            messages.append(line)
    return messages


async def run_in_terminal(setup: RunSetup) -> int:
    """Run the agent, then print its outcome and the command that shows its history."""
    if setup.prompt is None and not (is_interactive() and setup.can_ask):
        return setup.nothing_to_do()
    meter = RunMeter()
    if is_interactive():
        plain = PlainRun(setup, meter)
        outcome = await plain.run()
        return report_outcome(setup, plain.renderer, meter, outcome)
    notices = Notices()
    host = setup.open(notices)
    renderer = notices.renderer = EventRenderer(host, LineOutput(sys.stdout))
    host.listen(meter.feed)
    host.listen(renderer.render)
    return report_outcome(setup, renderer, meter, await run_headless(setup, host))


class Notices(NoUI):
    """A UI that writes messages and declines every question."""

    renderer: EventRenderer | None = None

    def notify(self, message: str, kind: str = "info") -> None:
        if self.renderer is not None:
            self.renderer.put(Text(message, ROLES.get(kind, Role.MUTED)))


def is_interactive() -> bool:
    """Return whether a person can be asked: input and output are a terminal."""
    if sys.platform == "win32":  # asyncio cannot wait for its console
        return False
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def report_outcome(setup: RunSetup, renderer: EventRenderer, meter: RunMeter, outcome: RunOutcome) -> int:
    if meter.worked_seconds:
        renderer.put(Text(meter.summary(), Role.DIM))
    if not outcome.reported:
        renderer.put(Text(f"✗ {outcome.reason}", Role.WARNING))
    for line in filter(None, (outcome.next_step, setup.report.log_hint())):
        renderer.put(Text(line, Role.DIM))
    return outcome.code


def is_possible(args: ParsedArgs, setup: RunSetup) -> bool:
    wanted = setup.mode == "terminal" and not args.has("plain") and not setup.settings.accessible
    drawable = is_interactive() and os.environ.get("TERM") != "dumb"
    return wanted and drawable and find_spec("textual") is not None


async def run_in_full_screen(setup: RunSetup) -> int:
    """Run the agent in full screen until the person leaves, or until it is over if they can only watch."""
    # Optional extra, and slow to import.
    from tildone.screens.run.app import RunApp  # noqa: PLC0415  see above
    from tildone.screens.widgets.keys import theme_for  # noqa: PLC0415  see above

    if not setup.can_ask:
        # Nothing slow has to be loaded, and what cannot start is said without a screen.
        setup.prepare()
        if setup.prompt is None:
            return setup.nothing_to_do()
    meter = RunMeter()
    notices: list[str] = []
    setup.notify = notices.append
    app = RunApp(
        setup,
        meter,
        theme=theme_for(os.environ, setup.settings.theme),
        patience=setup.patience,
        notices=notices,
    )
    with on_signals(lambda number: app.leave(128 + number)):
        await app.run_async()
    host, failure = app.conversation.host, app.conversation.failure
    if host is not None:
        async with closing(host):
            outcome = _outcome_of(setup, host, app.code)
        if failure is None and app.return_code in (None, 0):
            return _report_on_screen(setup, host, meter, outcome)
    if failure is not None:
        raise failure
    return app.return_code or app.code


def _outcome_of(setup: RunSetup, host: Host, code: int) -> RunOutcome:
    if code:
        return setup.report.interrupted(host, code)
    spoken = bool(host.transcript.messages())
    next_step = setup.report.next_step(host) if spoken and setup.can_ask else ""
    if host.is_running or setup.prompt is None:
        return RunOutcome(0, next_step=next_step)
    outcome = setup.report.outcome(host)
    return replace(outcome, next_step=outcome.next_step or next_step)


def _report_on_screen(setup: RunSetup, host: Host, meter: RunMeter, outcome: RunOutcome) -> int:
    """Leave the last answer, the plan and the next steps on the normal screen."""
    renderer = EventRenderer(host, LineOutput(sys.stdout))
    last = last_answer(host.transcript.messages())
    if last is not None and (text := text_of(last).strip()):
        renderer.put(Markdown(text, Role.TEXT))
    if setup.plan.tasks:
        put_spans([(), *plan_lines(setup.plan, columns()), ()])
    return report_outcome(setup, renderer, meter, outcome)
