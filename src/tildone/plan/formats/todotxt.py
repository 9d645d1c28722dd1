"""Reading and writing of todo.txt: one line per task, with its phase as +project.

Everything else is written as `key:value` fields, which the format provides for extensions: `status:in_progress`,
`note:…` and, next to a +project or text that cannot be written literally, `phase:…` and `text:…` with the exact value.
These two are used only while they match the visible value next to them: an edit by a person takes precedence.
"""

from __future__ import annotations

import re

from tildone.plan.formats import JS_WHITESPACE, ExportedText, ImportedPlan, WarningCollector
from tildone.plan.model import Phase, Plan, Status, Task, has_attributes
from tildone.plan.text.safe import printable

COMPLETED, CREATED = "completed: ", "created: "

# Patterns are strings, compiled by `re` on first use.
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DONE = f"\\A(x )(\\([A-Z]\\) )?(?:({_DATE}) (?:({_DATE}) )?)?((?s:.*))\\Z"
_TO_DO = f"\\A()(\\([A-Z]\\) )?()(?:({_DATE}) )?((?s:.*))\\Z"
_OWN_FIELD = "(status|phase|text|note):([^ :]+)"
_FIELD = "([A-Za-z][A-Za-z0-9_-]*):(?!//)[^ :]+"
_TRAILING_WORD = f"|[+@][^ ]+|{_OWN_FIELD}|{_FIELD}"
_FORGED_TAG = "(?<![^ ])\\+(?=[^ ])"
_FORGED_FIELD = f"(?<![^ ])(?={_OWN_FIELD}(?![^ ]))([a-z]+):"
_PLACEHOLDER = "·"
_EMPTY_VALUE = "%"

_STATUSES = {status.value: status for status in Status}
_VISIBLE = "which other programs show as it is"


def read(text: str) -> ImportedPlan:
    """Parse a todo.txt file: phases by +project, in the order of their first occurrence."""
    warnings = WarningCollector()
    phases: dict[str, list[Task]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        parsed = _parse_line(line)
        if parsed:
            task, phase, messages = parsed
            phases.setdefault(phase, []).append(task)
            for message in messages:
                warnings.add(message, number)
    return ImportedPlan(Plan(tuple(Phase(name, tuple(tasks)) for name, tasks in phases.items())), warnings.all())


def write(plan: Plan) -> ExportedText:
    """Return the plan as todo.txt, from which `read` restores it but for empty phases and several of one name."""
    warnings = WarningCollector()
    lines: list[str] = []
    names: set[str] = set()
    for phase in plan.phases:
        if not phase.tasks:
            warnings.add(f"{_describe_phase(phase)} has no tasks and is left out")
        elif phase.name in names:
            warnings.add(f"{_describe_phase(phase)} occurs more than once; an import makes it one phase")
        elif phase.name and phase.name != _tag(phase.name):
            warnings.add(f"{_describe_phase(phase)} is written as +{_tag(phase.name)}, and exactly as phase:…")
        names.add(phase.name)
        for task in phase.tasks:
            if has_attributes(task):
                warnings.add("the check, the order and the files of a task are left out", len(lines) + 1)
            line, messages = _write_task(task, phase.name)
            lines.append(line)
            for message in messages:
                warnings.add(message, len(lines))
    if plan.check is not None:
        warnings.add("the check of the plan is left out")
    return ExportedText("".join(f"{line}\n" for line in lines), warnings.all())


def _describe_phase(phase: Phase) -> str:
    return f"phase “{printable(phase.name)}”" if phase.name else "a phase without a name"


def _write_task(task: Task, phase: str) -> tuple[str, list[str]]:
    """The line of a task, and warnings about elements that other programs do not understand.

    The text is written literally if it reads back unchanged, otherwise in a visible form and exactly in a field.
    """
    dates, notes = _dates(task)
    fields, messages = [f"note:{_encoded(note)}" for note in notes], list[str]()
    if task.status not in (Status.PENDING, Status.COMPLETED):
        fields.insert(0, f"status:{task.status.value}")
        messages.append(f"{task.status.value} is written as status:{task.status.value}, {_VISIBLE}")
    if notes:
        messages.append(f"a note is written as note:…, {_VISIBLE}")
    if phase:
        tag = _tag(phase)
        fields.insert(0, f"+{tag}" if tag == phase else f"+{tag} phase:{_encoded(phase)}")
    line = _assemble(task, dates, printable(task.text), fields)
    again, its_phase, _ = _parse_line(line) or (None, "", [])
    if again and (its_phase, again.text, again.status, again.notes) == (phase, task.text, task.status, task.notes):
        return line, messages
    messages.append(
        f"a text that would be parsed differently is changed; the exact text is written as text:…, {_VISIBLE}"
    )
    return _assemble(task, dates, _visible(task.text), [*fields, f"text:{_encoded(task.text)}"]), messages


def _assemble(task: Task, dates: list[str], text: str, fields: list[str]) -> str:
    """A line in the order of the format: mark, priority, dates, text, fields."""
    priority = re.match("\\([A-Z]\\) ", text) if dates else None
    before_dates = [priority[0].rstrip()] if priority else []
    rest = text[len(priority[0]) :] if priority else text
    return " ".join([*([] if task.status.is_open else ["x"]), *before_dates, *dates, rest, *fields])


def _dates(task: Task) -> tuple[list[str], tuple[str, ...]]:
    """The dates kept as notes when the task was read from a todo.txt, and its other notes."""
    prefixes = [CREATED] if task.status.is_open else [COMPLETED, CREATED]
    dates: list[str] = []
    for prefix, note in zip(prefixes, task.notes, strict=False):
        if not re.fullmatch(prefix + _DATE, note):
            break
        dates.append(note.removeprefix(prefix))
    return dates, task.notes[len(dates) :]


def _parse_line(line: str) -> tuple[Task, str, list[str]] | None:
    """Return the task in a line, the name of its phase, and warnings; None if the line is empty."""
    line = line.strip(JS_WHITESPACE)
    if not line:
        return None
    done, priority, completed, created, rest = _parts(line)
    warnings = ["a priority is kept in the text"] if priority else []
    notes = [f"{COMPLETED}{completed}"] if completed else []
    notes += [f"{CREATED}{created}"] if created else []
    warnings += ["a date is kept as a note"] if notes else []
    words = _Words(rest.split(" "))
    phase = words.phase()
    text = words.text(priority)
    task = Task(text, words.status(closed=bool(done)), (*notes, *words.notes))
    return task, phase, warnings + words.warnings


def _parts(line: str) -> list[str]:
    """The mark, priority, completion date, creation date and rest of a line; missing parts are empty."""
    [parts] = re.findall(_DONE if line.startswith("x ") else _TO_DO, line)
    return list(parts)


class _Words:
    """The words of a line after mark, priority and dates: its text, and the fields at its end, the only interpreted."""

    def __init__(self, words: list[str]) -> None:
        end = len(words)
        while end and re.fullmatch(_TRAILING_WORD, words[end - 1]):
            end -= 1
        self._leading = words[:end]
        self._trailing: list[str] = []
        self._all = words
        self._fields: dict[str, str] = {}
        self.notes: list[str] = []
        self.warnings: list[str] = []
        for word in words[end:]:
            own = re.fullmatch(_OWN_FIELD, word)
            content = _decoded(own[2]) if own else None
            if own is None or content is None or (own[1] == "status" and content not in _STATUSES):
                self._trailing.append(word)
            elif own[1] == "note":
                self.notes.append(content)
            else:
                self._fields[own[1]] = content

    def status(self, *, closed: bool) -> Status:
        # The mark takes precedence over a field, as another program may have set it.
        default = Status.COMPLETED if closed else Status.PENDING
        field = _STATUSES.get(self._fields.get("status", ""), default)
        return default if field.is_open is closed else field

    def phase(self) -> str:
        """The name of the task's phase: the last +project after the text, else the first within it."""
        exact = self._fields.get("phase")
        trailing = [index for index, word in enumerate(self._trailing) if _is_tag(word)]
        leading = [word[1:] for word in self._leading if _is_tag(word)]
        if len(trailing) + len(leading) > 1:
            self.warnings.append("a task has one phase; further +projects are kept in the text")
        if trailing:
            tag = self._trailing.pop(trailing[-1])[1:]
        elif leading:
            tag = leading[0]
        else:
            return exact or ""
        if exact is not None and _tag(exact) == tag:
            return exact
        self.warnings += [] if exact is None else ["phase: no longer matches its +project; the +project is used"]
        return tag

    def text(self, priority: str) -> str:
        """The text of the task. Call `phase` first: it removes the +project."""
        words = [*self._leading, *self._trailing]
        visible = priority + (_stripped(words) or _stripped(self._all))
        keys = [found[1] for word in words if (found := re.fullmatch(_FIELD, word))]
        self.warnings += [f"the field {key}: is kept in the text" for key in dict.fromkeys(keys)]
        if any(word.startswith("@") and len(word) > 1 for word in words):
            self.warnings.append("a context (@) is kept in the text")
        exact = self._fields.get("text")
        if exact is None or _visible(exact) == visible:
            return visible if exact is None else exact
        self.warnings.append("text: no longer matches its line; the line is used")
        return visible


def _stripped(words: list[str]) -> str:
    return " ".join(words).strip(JS_WHITESPACE)


def _is_tag(word: str) -> bool:
    return word.startswith("+") and len(word) > 1


def _tag(phase: str) -> str:
    return re.sub(r"\s", "_", printable(phase))


def _visible(text: str) -> str:
    """A visible form of a text that cannot be written literally: one line, without anything that would be parsed."""
    words = re.sub(_FORGED_FIELD, "\\3：", re.sub(_FORGED_TAG, "＋", printable(text).strip(JS_WHITESPACE)))
    # Parsed with a word after it, as fields will follow.
    done, _, completed, created, rest = _parts(f"{words} {_PLACEHOLDER}")
    forged = done or completed or created or rest == _PLACEHOLDER or rest.startswith(" ")
    return f"{_PLACEHOLDER} {words}".rstrip() if forged else words


def _encoded(text: str) -> str:
    """Percent-encode a text as one word without colons; printable characters are kept."""
    return "".join(map(_escaped, text)) or _EMPTY_VALUE


def _escaped(char: str) -> str:
    if char not in "%:" and not char.isspace() and printable(char) == char:
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _decoded(word: str) -> str | None:
    """Decode a percent-encoded word; None if it is not valid UTF-8."""
    if word == _EMPTY_VALUE:
        return ""
    raw = re.sub(b"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), word.encode("utf-8", "surrogatepass"))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
