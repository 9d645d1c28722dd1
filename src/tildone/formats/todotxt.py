"""Reading and writing of todo.txt: one line per task, with its phase as +project.

Everything else is written as `key:value` fields, which the format provides for extensions: `status:in_progress`,
`note:…` and, next to a +project or text that cannot be written literally, `phase:…` and `text:…` with the exact value.
These two are used only while they match the visible value next to them: an edit by a person takes precedence.
"""

from __future__ import annotations

import re

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.formats.conversion import ExportedText, ImportedPlan, WarningCollector
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETED, CREATED = "completed: ", "created: "

# Patterns are text that `re` compiles when it first needs them.
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DONE = f"\\A(x )(\\([A-Z]\\) )?(?:({_DATE}) (?:({_DATE}) )?)?((?s:.*))\\Z"
_TO_DO = f"\\A()(\\([A-Z]\\) )?()(?:({_DATE}) )?((?s:.*))\\Z"
_OWN = "(status|phase|text|note):([^ :]+)"
_FIELD = "([A-Za-z][A-Za-z0-9_-]*):(?!//)[^ :]+"
_BEHIND = f"|[+@][^ ]+|{_OWN}|{_FIELD}"
_FORGED_TAG = "(?<![^ ])\\+(?=[^ ])"
_FORGED_FIELD = f"(?<![^ ])(?={_OWN}(?![^ ]))([a-z]+):"
_GUARD = "·"
_NOTHING = "%"

_STATUSES = {status.value: status for status in Status}
_SHOWN = "which other programs show as it is"


@value
class _Line:
    """A parsed line: a task, the name of its phase, and warnings."""

    task: Task
    phase: str
    said: tuple[str, ...] = ()


def read(text: str) -> ImportedPlan:
    """The plan in a todo.txt file: phases by +project, in the order of their first occurrence."""
    remarks = WarningCollector()
    phases: dict[str, list[Task]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        found = _understood(line)
        if found:
            phases.setdefault(found.phase, []).append(found.task)
            for what in found.said:
                remarks.add(what, number)
    return ImportedPlan(Plan(tuple(Phase(name, tuple(tasks)) for name, tasks in phases.items())), remarks.all())


def write(plan: Plan) -> ExportedText:
    """The plan as todo.txt.

    `read` returns the same plan, except that empty phases are lost and phases of the same name become one.
    """
    remarks = WarningCollector()
    lines: list[str] = []
    names: set[str] = set()
    for phase in plan.phases:
        if not phase.tasks:
            remarks.add(f"{_named(phase)} has no task, so it has no line and is left out")
        elif phase.name in names:
            remarks.add(f"{_named(phase)} is there more than once: read again, it is one")
        elif phase.name and phase.name != _tag(phase.name):
            remarks.add(f"{_named(phase)} is written as +{_tag(phase.name)}, and exactly as phase:…")
        names.add(phase.name)
        for task in phase.tasks:
            line, lost = _line(task, phase.name)
            lines.append(line)
            for what in lost:
                remarks.add(what, len(lines))
    return ExportedText("".join(f"{line}\n" for line in lines), remarks.all())


def _named(phase: Phase) -> str:
    return f"phase “{printable(phase.name)}”" if phase.name else "a phase without a name"


def _line(task: Task, phase: str) -> tuple[str, list[str]]:
    """The line of a task, and warnings about what other programs do not understand.

    The text is written literally if it reads back unchanged, otherwise in a visible form and exactly in a field.
    """
    dates, notes = _dates(task)
    fields, lost = [f"note:{_encoded(note)}" for note in notes], list[str]()
    if task.status not in (Status.PENDING, Status.COMPLETED):
        fields.insert(0, f"status:{task.status.value}")
        lost.append(f"{task.status.value} is written as status:{task.status.value}, {_SHOWN}")
    if notes:
        lost.append(f"what is noted is written as note:…, {_SHOWN}")
    if phase:
        tag = _tag(phase)
        fields.insert(0, f"+{tag}" if tag == phase else f"+{tag} phase:{_encoded(phase)}")
    line = _put(task, dates, printable(task.text), fields)
    if _reads_as(line, task, phase):
        return line, lost
    lost.append(f"a text that would be taken for something else is changed, and exactly written as text:…, {_SHOWN}")
    return _put(task, dates, _visible(task.text), [*fields, f"text:{_encoded(task.text)}"]), lost


def _put(task: Task, dates: list[str], text: str, fields: list[str]) -> str:
    """A line in the order of the format: mark, priority, dates, text, fields."""
    priority = re.match("\\([A-Z]\\) ", text) if dates else None
    ahead = [priority[0].rstrip()] if priority else []
    rest = text[len(priority[0]) :] if priority else text
    return " ".join([*([] if task.status.is_open else ["x"]), *ahead, *dates, rest, *fields])


def _reads_as(line: str, task: Task, phase: str) -> bool:
    again = _understood(line)
    if again is None:
        return False
    found = again.task
    return (again.phase, found.text, found.status, found.notes) == (phase, task.text, task.status, task.notes)


def _dates(task: Task) -> tuple[list[str], tuple[str, ...]]:
    """The dates kept as notes when the task was read from a todo.txt, and its other notes."""
    prefixes = [CREATED] if task.status.is_open else [COMPLETED, CREATED]
    dates: list[str] = []
    for prefix, note in zip(prefixes, task.notes, strict=False):
        if not re.fullmatch(prefix + _DATE, note):
            break
        dates.append(note.removeprefix(prefix))
    return dates, task.notes[len(dates) :]


def _understood(line: str) -> _Line | None:
    """Parse a line; None if it is empty."""
    line = line.strip(JS_WHITESPACE)
    if not line:
        return None
    done, priority, completed, created, rest = _parts(line)
    said = ["a priority has no place in a plan; it is kept in the text"] if priority else []
    notes = [f"{COMPLETED}{completed}"] if completed else []
    notes += [f"{CREATED}{created}"] if created else []
    said += ["a date has no place in a plan; it is kept as a note"] if notes else []
    words = _Words(rest.split(" "))
    phase = words.phase()
    text = words.text(priority)
    task = Task(text, words.status(closed=bool(done)), (*notes, *words.notes))
    return _Line(task, phase, (*said, *words.said))


def _parts(line: str) -> tuple[str, str, str, str, str]:
    """The mark, priority, completion date, creation date and rest of a line; missing parts are empty."""
    [parts] = re.findall(_DONE if line.startswith("x ") else _TO_DO, line)
    done, priority, completed, created, rest = parts
    return done, priority, completed, created, rest


class _Words:
    """The words of a line after its mark, priority and dates, split into text and fields.

    Only fields at the end are interpreted; a +project or field between words belongs to the text.
    """

    def __init__(self, words: list[str]) -> None:
        end = len(words)
        while end and re.fullmatch(_BEHIND, words[end - 1]):
            end -= 1
        self._body = words[:end]
        self._behind: list[str] = []
        self._all = words
        self._fields: dict[str, str] = {}
        self.notes: list[str] = []
        self.said: list[str] = []
        for word in words[end:]:
            self._take(word)

    def _take(self, word: str) -> None:
        own = re.fullmatch(_OWN, word)
        held = _decoded(own[2]) if own else None
        if own is None or held is None or (own[1] == "status" and held not in _STATUSES):
            self._behind.append(word)
        elif own[1] == "note":
            self.notes.append(held)
        else:
            self._fields[own[1]] = held

    def status(self, *, closed: bool) -> Status:
        """The status of the task; the mark takes precedence over a field, as another program may have set it."""
        usual = Status.COMPLETED if closed else Status.PENDING
        said = _STATUSES.get(self._fields.get("status", ""), usual)
        return usual if said.is_open is closed else said

    def phase(self) -> str:
        """The name of the task's phase: the last +project after the text, else the first within it."""
        exact = self._fields.get("phase")
        behind = [index for index, word in enumerate(self._behind) if _is_tag(word)]
        within = [word[1:] for word in self._body if _is_tag(word)]
        if len(behind) + len(within) > 1:
            self.said.append("a task has one phase; further +projects are kept in the text")
        if behind:
            tag = self._behind.pop(behind[-1])[1:]
        elif within:
            tag = within[0]
        else:
            return exact or ""
        if exact is not None and _tag(exact) == tag:
            return exact
        self.said += [] if exact is None else ["phase: does not fit its +project any more; the +project counts"]
        return tag

    def text(self, priority: str) -> str:
        """The text of the task. Call `phase` first: it removes the +project."""
        words = [*self._body, *self._behind]
        visible = priority + (_stripped(words) or _stripped(self._all))
        self.said += _fields_said(words)
        exact = self._fields.get("text")
        if exact is None or _visible(exact) == visible:
            return visible if exact is None else exact
        self.said.append("text: does not fit its line any more; the line counts")
        return visible


def _stripped(words: list[str]) -> str:
    return " ".join(words).strip(JS_WHITESPACE)


def _fields_said(words: list[str]) -> Iterator[str]:
    keys = [found[1] for word in words if (found := re.fullmatch(_FIELD, word))]
    for key in dict.fromkeys(keys):
        yield f"{key}: has no place in a plan; it is kept in the text"
    if any(word.startswith("@") and len(word) > 1 for word in words):
        yield "a context (@) has no place in a plan; it is kept in the text"


def _is_tag(word: str) -> bool:
    return word.startswith("+") and len(word) > 1


def _tag(phase: str) -> str:
    """A phase's name as a +project."""
    return re.sub(r"\s", "_", printable(phase))


def _visible(text: str) -> str:
    """A visible form of a text that cannot be written literally: one line, without anything that would be parsed."""
    words = re.sub(_FORGED_FIELD, "\\3：", re.sub(_FORGED_TAG, "＋", printable(text).strip(JS_WHITESPACE)))
    # Parsed with a word after it, as fields will follow.
    done, _, completed, created, rest = _parts(f"{words} {_GUARD}")
    forged = done or completed or created or rest == _GUARD or rest.startswith(" ")
    return f"{_GUARD} {words}".rstrip() if forged else words


def _encoded(text: str) -> str:
    """Percent-encode a text as one word without colons; printable characters are kept."""
    return "".join(map(_escaped, text)) or _NOTHING


def _escaped(char: str) -> str:
    if char not in "%:" and not char.isspace() and printable(char) == char:
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _decoded(word: str) -> str | None:
    """Decode a percent-encoded word; None if it is not valid UTF-8."""
    if word == _NOTHING:
        return ""
    raw = re.sub(b"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), word.encode("utf-8", "surrogatepass"))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
