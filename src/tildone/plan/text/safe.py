"""Texts that are safe to show: how much of a plan a model is told at once, and which characters are shown.

The plan itself is never cut. If a list does not fit, the texts in it are cut, so that every task keeps its line. Tasks
in progress keep their whole texts: a model reads the text of any task by starting it. Only if the lines do not fit even
so, tasks are left out and counted: closed ones first, so that open ones come up as others are closed. The limits are in
characters; four are about one token.
Task text is written by a model, or comes from a file that somebody checked in. It is stored unchanged. When it is
shown, to a person or to a model, it must not be able to imitate the text around it, whether by line breaks, terminal
escapes, bidi overrides, invisible characters or tags. There are four forms:

- `single_line`, for a text within a list: it cannot start a line of its own. The dialects build their lists with it.
- `safe_text`, for a whole text that a model reads: every shell applies it to what it hands over.
- `printable`, for one line on a screen or in a pipe.
- `escape_json`, for JSON that programs read: nothing is lost, but no such character is in it as itself.

Letters of every script, combining marks, and the joiners and selectors that emoji and some scripts are spelled with
are ordinary text and stay as they are.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.events import Directive
from tildone.plan.model import Phase, Plan, Status, Task, next_task, progress

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence

    from tildone.plan.events import State

    Entry = tuple[Task, Callable[[int], str]]
    """A task, and a function that returns what a list has of it, with at most that many characters of its text."""


MAX_TEXT = 2_000
"""Of the text of a task, the name of a phase, or a note."""

MIN_TEXT = 60
"""To how many characters texts are cut before tasks are left out."""

MAX_NUDGE = 8_000
"""Of the prompt with which an agent is told to go on."""

MAX_CONTEXT = 8_000
"""Of the text about the plan at the start of a turn."""

MAX_RESULT = 40_000
"""Of the result of a tool call."""

MAX_START = 40_000
"""Of the prompt with which `tildone run` starts a model on a plan, and of its reports of changes to it."""

MAX_RESOURCE = 200_000
"""Of a resource that an MCP client reads, and of structured data in the result of a tool call."""

MAX_HOOK_REPLY = 10_000
"""Of the reply to a hook event."""

MAX_FRAME = 1_000
"""Of the words around a list: what a prompt or a result has besides the tasks."""

MAX_AGENT_NAME = 20
MAX_WHOLE_ID = 8
"""How long a conversation id is shown in full; of a longer one, only the end is shown, which is the random part."""

SHORT_ID_LENGTH = 4

ELLIPSIS = "…"
_MARKS = "- [ ] " * 4
"""What the marks of a task and its notes may take in a list."""

_SYMBOL = 9
"""How much longer a character is that is shown as its code point (`<U+202E>`)."""


def clipped(text: str, max_characters: int = MAX_TEXT) -> str:
    """Return the text, or as much of it as fits before an ellipsis."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + ELLIPSIS


def bounded_list(entries: Sequence[Entry], max_characters: int) -> list[str]:
    """Return what a list has of each task, cut or left out where it does not fit, and lines that say so."""
    sizes = fitting(entries, max_characters)
    lines = [line(size) for (_, line), size in zip(entries, sizes, strict=True) if size]
    return [*lines, *omissions([task for task, _ in entries], sizes)]


def fitting(entries: Sequence[Entry], max_characters: int, min_text: int = MIN_TEXT) -> list[int]:
    """Return how many characters of the text of each task fit; 0 for a task that is left out."""
    return (
        _all_fitting(entries, max_characters, min_text, spares_active=True)
        or _all_fitting(entries, max_characters, min_text, spares_active=False)
        or _most_important(entries, max_characters, min_text)
    )


def omissions(tasks: Sequence[Task], sizes: Sequence[int]) -> list[str]:
    """Return lines that say which texts were cut and how many tasks were left out, if any, and how to see them."""
    lines = list[str]()
    told = [(task, size) for task, size in zip(tasks, sizes, strict=True) if size]
    if any(size < min(len(task.text), MAX_TEXT) for task, size in told):
        is_spared = all(size == MAX_TEXT for task, size in told if task.status is Status.IN_PROGRESS)
        lines.append(f"{ELLIPSIS} long texts are cut{', except of tasks in progress' if is_spared else ''}")
    if left := [task for task, size in zip(tasks, sizes, strict=True) if not size]:
        when = ", listed as others are closed" if any(task.status.is_open for task in left) else ""
        lines.append(f"{ELLIPSIS} and {len(left):,} more task{'s' if len(left) > 1 else ''}{when}")
    return lines


@value
class Part:
    """A part of a plan, with lines that say what is missing, and the number of the tasks that were left out."""

    plan: Plan
    omissions: tuple[str, ...] = ()
    omitted: int = 0


def bounded_plan(plan: Plan, max_characters: int, min_text: int = MIN_TEXT) -> Part:
    """Return the plan, or the part of it that fits, with texts cut to no less than `min_text` characters."""
    if sum(_size(_written(phase, task)) for phase in plan.phases for task in phase.tasks) <= max_characters:
        return Part(plan)
    phases = [Phase(clipped(phase.name), tuple(map(_with_newest_notes, phase.tasks))) for phase in plan.phases]
    entries = [_entry(phase, task) for phase in phases for task in phase.tasks]
    sizes = fitting(entries, max_characters, min_text)
    size_of = iter(sizes)
    kept = [
        Phase(
            phase.name,
            tuple(replace(task, text=clipped(task.text, size)) for task in phase.tasks if (size := next(size_of))),
        )
        for phase in phases
    ]
    missing = omissions([task for task, _ in entries], sizes)
    return Part(Plan(tuple(phase for phase in kept if phase.tasks)), tuple(missing), sizes.count(0))


def bounded_lines(lines: Iterable[str], max_characters: int) -> list[str]:
    """Return as many of the lines as fit, and a line that counts the others."""
    given = list(lines)
    for index, line in enumerate(given):
        max_characters -= _size(line)
        if max_characters < 0:
            left = len(given) - index
            return [*given[:index], f"{ELLIPSIS} and {left:,} more line{'s' if left > 1 else ''}"]
    return given


def _all_fitting(
    entries: Sequence[Entry], max_characters: int, min_text: int, *, spares_active: bool
) -> list[int] | None:
    """Return the sizes with which all tasks fit; None if there are none."""

    def fits(size: int) -> bool:
        sizes = _sizes(entries, size, spares_active=spares_active)
        return sum(_size(line(size)) for (_, line), size in zip(entries, sizes, strict=True)) <= max_characters

    size = _largest_size(fits, min_text)
    return _sizes(entries, size, spares_active=spares_active) if size else None


def _most_important(entries: Sequence[Entry], max_characters: int, min_text: int) -> list[int]:
    sizes = _sizes(entries, min_text, spares_active=True)
    for index in sorted(range(len(entries)), key=lambda index: _rank(entries[index][0])):
        max_characters -= _size(entries[index][1](sizes[index]))
        if max_characters < 0:
            sizes[index] = 0
    return sizes


def _largest_size(fits: Callable[[int], bool], min_text: int) -> int:
    if fits(MAX_TEXT):
        return MAX_TEXT
    if not fits(min_text):
        return 0
    low, high = min_text, MAX_TEXT
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _sizes(entries: Sequence[Entry], size: int, *, spares_active: bool) -> list[int]:
    return [MAX_TEXT if spares_active and task.status is Status.IN_PROGRESS else size for task, _ in entries]


def _entry(phase: Phase, task: Task) -> Entry:
    return task, lambda size: _written(phase, replace(task, text=clipped(task.text, size)))


def _written(phase: Phase, task: Task) -> str:
    """About what a list has of a task, with the name of its phase."""
    return "".join((phase.name, task.text, *task.notes, _MARKS))


def _with_newest_notes(task: Task) -> Task:
    notes, room = list[str](), MAX_TEXT
    for note in reversed(task.notes):
        notes.insert(0, clipped(note))
        room -= len(notes[0])
        if room < 0:
            del notes[0]
            break
    return replace(task, notes=tuple(notes))


def _size(line: str) -> int:
    hidden = 0 if line.isprintable() else sum(not char.isprintable() for char in line)
    return len(line) + _SYMBOL * hidden + 1


def _rank(task: Task) -> int:
    return 0 if task.status is Status.IN_PROGRESS else 1 if task.status.is_open else 2


LINE_BREAK_SYMBOL = "⏎"

_BREAKS = str.maketrans(dict.fromkeys("\n\v\f\r\x85\u2028\u2029", LINE_BREAK_SYMBOL))

# Patterns are strings, and `re` is imported where it is used: hooks rarely print text that needs it.
_FRAMES = (
    "system-(?:message|prompt|instruction|notification)",
    "hook-(?:context|prompt|output|result|feedback)",
    "user-(?:prompt|instruction|message|query)",
    "command-(?:name|message|args|contents)",
    "local-command",
    "environment-(?:context|details)",
    "task-notification",
    "persisted-output",
    "tool-(?:result|response|output|use|call|code)",
    "function-(?:call|result|response|output)",
    "antml",
    "invoke",
)
"""The names of the elements that coding agents put around text which is not the person's, and models around calls.

They are spelled with `-` or `_`. Names without either are types and placeholders in ordinary text (`List<ToolCall>`).
"""

# The one that tildone uses, too, in any spelling that a model might take for it.
_REMINDER = r"system(?:[^\w<>‹]|_)*reminder"

# The angle bracket of such a tag, and that of a special token of a chat format (`<|im_start|>`).
_TAG = (
    r"(?i)<(?=\|[\w./-]{1,40}\|>"
    rf"|[^\w<>!‹]*(?:{_REMINDER}|{'|'.join(_FRAMES).replace('-', '[-_]')})s?(?![^\W_]))"
)

# Emoji, and the letters of scripts whose spelling needs joiners (Arabic to Sinhala, Burmese, Khmer, Mongolian).
_EMOJI = "\xa9\xae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINABLE = f"{_EMOJI}\u0600-\u061b\u061d-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Allowed, because each modifies one visible character and hides nothing: subdivision flags, one variation selector
# after a character that has variants, one joiner between two characters that can be joined.
_ALLOWED = (
    "(?P<allowed>"
    "\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f"
    f"|(?<=[{_JOINABLE}{_IDEOGRAPHS}0-9#*])[\ufe00-\ufe0f]"
    f"|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
    f"|(?:(?<=[{_JOINABLE}])|(?<=[{_EMOJI}]\ufe0f))[\u200c\u200d](?=[{_JOINABLE}])"
    ")"
)
# Controls, separators, lone surrogates, and every default-ignorable code point: bidi marks and overrides, zero-width
# characters, fillers, variation selectors, tags.
_UNPRINTABLE = (
    f"{_ALLOWED}|[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The members of `_UNPRINTABLE` that `str.isprintable` accepts.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0").union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


def single_line(text: str) -> str:
    """Replace line breaks by a symbol, so that the text cannot start a line of its own in a list that a model reads."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_BREAKS)


def safe_text(text: str) -> str:
    """Return lines of text for a model in which nothing hides, reorders or imitates other text; it is idempotent."""
    return _defused(visible(text))


def visible(text: str) -> str:
    """Return text with nothing in it that hides or reorders; its lines, tabs and tags are kept."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join([_visible(line, _symbol) for line in text.split("\n")])


def reminder(body: str) -> str:
    """Return a text as the element in which agents tell a model something; it can neither close nor open one."""
    return f"<system-reminder>\n{_defused(body)}\n</system-reminder>"


def shown_text(text: str) -> str:
    """Return the text of a task as a model reads it: on one line, harmless, and not too long."""
    return clipped(safe_text(single_line(text)))


def shown_like(given: str) -> Callable[[str], str]:
    """Return a function to compare texts with one that a model gave: `shown_text`, or what a list has cut it to."""
    if len(given) < MIN_TEXT or not given.endswith(ELLIPSIS):
        return shown_text
    kept = given.removesuffix(ELLIPSIS)
    return lambda text: given if shown_text(text).startswith(kept) else shown_text(text)


def printable(text: str) -> str:
    """Return one line for a screen: symbols replace characters that would move, hide or reorder others."""
    line = single_line(text)
    return _defused(line if _is_visible(line) else _replaced(line, _symbol))


def short_agent(agent: str) -> str:
    """Return an agent id as people and models read it: `claude 5f0c`, `gemini pid 4711`."""
    product, colon, own = agent.partition(":")
    own = own.replace(":", " ")
    short = own if len(own) <= MAX_WHOLE_ID or own.startswith("pid ") else own[-SHORT_ID_LENGTH:]
    return " ".join(clipped(printable(part), MAX_AGENT_NAME) for part in ((product, short) if colon else (product,)))


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text for a screen, each made `printable`."""
    return [printable(line) for line in text.replace("\r\n", "\n").split("\n")]


def escape_json(text: str) -> str:
    """Return JSON text with the same value, in which all that `safe_text` replaces is escaped."""
    if not _is_visible(text):
        text = "\n".join([_visible(line, _escape) for line in text.split("\n")])
    return _defused(text, "\\\\u003c")


def _visible(line: str, symbol: Callable[[re.Match[str]], str]) -> str:
    if _is_visible(line):
        return line
    # A carriage return at the end of a line is part of its line break, and a tab hides nothing.
    body = line.removesuffix("\r")
    return "\t".join([_replaced(part, symbol) for part in body.split("\t")]) + line[len(body) :]


def _is_visible(line: str) -> bool:
    """Return whether the line needs no replacement: compiling the pattern takes longer than showing a plan."""
    return line.isprintable() and (line.isascii() or _INVISIBLE.isdisjoint(line))


def _defused(text: str, bracket: str = "‹") -> str:
    if "<" not in text:
        return text
    import re

    return re.sub(_TAG, bracket, text)


def _replaced(line: str, symbol: Callable[[re.Match[str]], str]) -> str:
    import re

    return re.sub(_UNPRINTABLE, symbol, line)


def _symbol(match: re.Match[str]) -> str:
    if match["allowed"]:
        return match[0]
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004  the control pictures block mirrors C0
        return chr(0x2400 + code)
    if code == 0x7F:  # noqa: PLR2004  DEL has a picture of its own
        return "␡"
    return f"<U+{code:04X}>"


def _escape(match: re.Match[str]) -> str:
    if match["allowed"]:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)])


NO_TODOS = "No todos"
UNNAMED_PHASE = "(unnamed)"


def numbered_list(plan: Plan, max_characters: int = MAX_RESULT - MAX_FRAME) -> str:
    """Return every task with its position, or `NO_TODOS`."""
    return numbered_lines(enumerate(plan.tasks), max_characters) or NO_TODOS


def numbered_at(plan: Plan, positions: Iterable[int], max_characters: int = MAX_NUDGE - MAX_FRAME) -> str:
    """Return the tasks at these positions, in the given order; positions without a task are skipped."""
    tasks = plan.tasks
    found = ((position, tasks[position]) for position in positions if 0 <= position < len(tasks))
    return numbered_lines(found, max_characters)


def numbered_lines(tasks: Iterable[tuple[int, Task]], max_characters: int) -> str:
    """Return these tasks with their positions, one per line, and what is missing if not all fits."""
    return "\n".join(bounded_list([_numbered_entry(position, task) for position, task in tasks], max_characters))


def _numbered_entry(position: int, task: Task) -> Entry:
    text = single_line(task.text)
    return task, lambda size: f"{task.status.icon} [{position}] {clipped(text, size)}"


MAX_TASK_CHARS = 60
BEGUN, UNTOUCHED = "✓", "☐"
SEPARATOR, NEEDS_YOU, LET_GO = " · ", "needs you", "let go"

DIRECTIVE_TEXTS = {Directive.GO: "", Directive.PAUSE: "paused", Directive.STOP: "stopped"}


def status_line(
    state: State, max_chars: int = MAX_TASK_CHARS, held_up: str = "", unapproved: Sequence[int] = ()
) -> str:
    """Return the progress, the next task, the directive unless GO, that the agent was let go, and what needs a person.

    That is what an agent has `held_up`, and the tasks whose checks are `unapproved`, by number; 0 is the plan itself.
    """
    done = progress(state.plan)
    upcoming = next_task(state.plan)
    parts = [f"{BEGUN if done.closed else UNTOUCHED} {done.closed}/{done.total}"] if done.total else []
    if upcoming is not None:
        task = upcoming[1]
        text = clipped(printable(task.text), max_chars)
        parts.append(f"#{task.number} {text}" if task.number else text)
    if DIRECTIVE_TEXTS[state.directive]:
        parts.append(DIRECTIVE_TEXTS[state.directive])
    if state.tripped:
        parts.append(LET_GO)
    if needs := [*filter(None, (held_up, approve_command(unapproved)))]:
        parts.append(f"{NEEDS_YOU}: {'; '.join(needs)}")
    return SEPARATOR.join(parts)


MAX_APPROVED = 3


def approve_command(unapproved: Sequence[int]) -> str:
    """Return what a person types to approve checks, or to list them if that of the plan is among them, or many are."""
    if not unapproved:
        return ""
    numbers = unapproved if all(unapproved) and len(unapproved) <= MAX_APPROVED else ()
    return " ".join(["tildone approve", *map(str, numbers)])


def status_text(plan: Plan) -> str | None:
    done = progress(plan)
    if not done.total:
        return None
    return f"✓ Done ({done.total} items)" if done.finished else f"📋 {done.closed}/{done.total}"


def active_tasks(plan: Plan) -> str | None:
    lines = [
        f"[{position}] {single_line(task.text)}"
        for position, task in enumerate(plan.tasks)
        if task.status is Status.IN_PROGRESS
    ]
    return "\n".join(lines) or None


def countdown_text(seconds: int) -> str:
    return f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"
