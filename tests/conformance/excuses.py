"""What excuses an answer that deviates: it shows a deliberate difference, and nothing else.

A vector whose answers deviate is relaxed only if every deviating step shows one of the differences of
`tests/project/differences.py` whose id or one of whose tags is among the vector's tags. Differences that are `UNTAGGED`
need no tag, because their predicates say exactly what the answer has to be. `TEXT_RULES` are the differences by which
characters of a text are replaced; a text may show several of them. `SHOWS` has a predicate for each of the others.

A vector is whatever somebody recorded: a predicate that does not find what it looks for is false, and never raises.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.answers import answers
from tests.conformance.phases import Phases
from tests.project.differences import DIFFERENCES
from tildone import INDEXED
from tildone.plan.dialects.indexed import STATUSES, is_item
from tildone.plan.model import Task, flat

Json = dict[str, Any]
Match = Callable[[Any, Any], bool]
TextRule = Callable[[str, int], str]
"""Returns a pattern for what a character of a text may be replaced by; "" if the rule does not concern it."""

NUDGE = ("send_user_message", "til-done-countdown")
LIMIT_REACHED = "til-done-complete"
OPENING = ("latest_from_entries", "resume", "reconstruct", "session_start", "session_tree")
NO_TODOS = "<dim>No todos</dim>"
LENGTH_OF_RECAP = 300
SELECTING = ("done", "drop", "rm")

_LINE_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_ORIGINAL_TEXT = re.compile(" <!--tildone .*?-->")
_MARKUP = re.compile("</?[a-z]+>")
_FRAME = re.compile(
    r"(?i)<(?:\||[^\w<>]*(?:system|hook|user|command|local|environment|task|persisted|tool|function|antml|invoke))"
)
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
_HIDDEN_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0"
_PARTS_OF_LETTERS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e01ef]")
"""Joiners, variation selectors and tags: after some letters and emoji they are ordinary text, else they are hidden."""


@dataclass(frozen=True)
class Deviation:
    """A step whose answer deviates: the setup and the steps before it, its call, both answers, the keys that differ."""

    setup: Json
    earlier: Sequence[Json]
    call: Json
    got: Json
    want: Json
    keys: Sequence[str]
    shown: frozenset[str]
    """The differences that earlier steps have shown."""

    @property
    def op(self) -> Any:
        return self.call.get("op")

    @property
    def earlier_ops(self) -> list[Any]:
        return [_at(step, "call", "op") for step in self.earlier]

    def only(self, *keys: str) -> bool:
        """Return whether no other keys differ."""
        return set(self.keys) <= set(keys)


def shown_differences(deviation: Deviation, tags: Collection[str], matches: Match) -> frozenset[str]:
    """Return the ids of the differences that a deviation shows, of those that these tags admit."""
    admitted = [
        difference.id
        for difference in DIFFERENCES
        if difference.id in UNTAGGED or {difference.id, *difference.tags} & {*tags}
    ]
    shown = [name for name in admitted if name in SHOWS and SHOWS[name](deviation, matches)]
    rules = {name: TEXT_RULES[name] for name in admitted if name in TEXT_RULES}
    return frozenset(shown) | replaced_characters(deviation, matches, rules)


def replaced_characters(deviation: Deviation, matches: Match, rules: Mapping[str, TextRule]) -> frozenset[str]:
    """Return the ids of the rules by which all that deviates was replaced; none if anything else deviates."""
    used: set[str] = set()

    def fits(got: Any, want: Any) -> bool:
        match want:
            case {"$own": True}:
                pieces = want.get("contains", [])
                return isinstance(got, str) and isinstance(pieces, list) and all(found(str(it), got) for it in pieces)
            case dict():
                return (
                    isinstance(got, dict)
                    and got.keys() == want.keys()
                    and all(fits(got[key], item) for key, item in want.items())
                )
            case list():
                return isinstance(got, list) and len(got) == len(want) and all(map(fits, got, want))
            case str():
                return isinstance(got, str) and (got == want or found(want, _ORIGINAL_TEXT.sub("", got), whole=True))
            case _:
                return matches(got, want)

    def found(text: str, got: str, *, whole: bool = False) -> bool:
        # One rule alone first: files and data, which no dialect phrases, keep what hides.
        for chosen in (*({name: rule} for name, rule in rules.items()), rules):
            pieces, names = list[str](), set[str]()
            for index, char in enumerate(text):
                replaced = {name: piece for name, rule in chosen.items() if (piece := rule(text, index))}
                names.update(replaced)
                pieces.append(f"(?:{'|'.join(replaced.values())})" if replaced else re.escape(char))
            if (re.fullmatch if whole else re.search)("".join(pieces), got):
                used.update(names)
                return True
        return False

    def explained(key: str) -> bool:
        got, want = deviation.got.get(key), deviation.want.get(key)
        if key == "json" and "harmless-for-models" in rules and _is_escaped_json(got):
            used.add("harmless-for-models")
            return fits(_parsed(got), _parsed(want))
        return fits(got, want)

    return frozenset(used) if deviation.keys and all(map(explained, deviation.keys)) else frozenset()


def one_line_per_task(text: str, index: int) -> str:
    """A line break is shown as ⏎; two characters may be one line break."""
    char = text[index]
    if char == "\r" and text[index + 1 : index + 2] == "\n":
        return "\r?"
    return f"{char}|⏎" if char in _LINE_BREAKS else ""


def reminder_cannot_be_closed(text: str, index: int) -> str:
    """The angle bracket of a tag is replaced."""
    return "<|‹" if _FRAME.match(text, index) else ""


def harmless_for_models(text: str, index: int) -> str:
    """What hides is shown as a symbol or a code point, and the angle bracket of a tag is replaced."""
    char = text[index]
    if char in "\n\t" or (char == "\r" and text[index + 1 : index + 2] in ("", "\n")):
        return ""
    if not _hides(char):
        return reminder_cannot_be_closed(text, index)
    code = ord(char)
    symbol = chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else re.escape(f"<U+{code:04X}>")
    return f"{char}|{symbol}" if _PARTS_OF_LETTERS.match(char) else symbol


def _hides(char: str) -> bool:
    return (
        unicodedata.category(char) in _HIDDEN_CATEGORIES
        or char in _HIDDEN_LETTERS
        or bool(_PARTS_OF_LETTERS.match(char))
    )


def _is_escaped_json(got: Any) -> bool:
    """Return whether a text is indented JSON in which nothing is escaped but what hides, and the brackets of tags."""
    parsed = _parsed(got)
    if not isinstance(parsed, dict):
        return False
    pieces = list[str]()
    text = json.dumps(parsed, ensure_ascii=False, indent=2)
    for index, char in enumerate(text):
        units = char.encode("utf-16-be", "surrogatepass").hex()
        escaped = "".join(rf"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        if char == "\n" or not (_hides(char) or _FRAME.match(text, index)):
            pieces.append(re.escape(char))
        else:
            is_visible = char == "<" or _PARTS_OF_LETTERS.match(char)
            pieces.append(f"(?:{char}|{escaped})" if is_visible else escaped)
    return bool(re.fullmatch("".join(pieces), str(got)))


def _parsed(value: Any) -> Any:
    """Return the value of JSON text, None if it is none; anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None


def bounded_texts(deviation: Deviation, matches: Match) -> bool:
    """The texts in a recap of 300 characters or more are cut to the same length, so that it has fewer."""
    return deviation.only("envelope", "json") and all(
        _has_cut_recap(_parsed(deviation.got.get(key)), _parsed(deviation.want.get(key)), matches)
        for key in deviation.keys
    )


def _has_cut_recap(got: Any, want: Any, matches: Match) -> bool:
    got, want = (_converted(envelope, _on_one_line) for envelope in (got, want))
    cut, whole = (_at(envelope, "data", "recap") for envelope in (got, want))
    if not isinstance(cut, str) or not isinstance(whole, str) or not len(cut) < LENGTH_OF_RECAP <= len(whole):
        return False
    texts = [str(item.get("content")) for item in _records(_at(want, "data", "todos"))]
    is_cut = any(cut == _with_cut_texts(whole, texts, size) for size in range(1, LENGTH_OF_RECAP))
    return is_cut and matches({**got, "data": {**got["data"], "recap": whole}}, want)


def _on_one_line(text: str) -> str:
    return text.replace("\r\n", "\n").translate(dict.fromkeys(map(ord, _LINE_BREAKS), "⏎"))


def _with_cut_texts(recap: str, texts: Sequence[str], size: int) -> str:
    for text in sorted(texts, key=len, reverse=True):
        if len(text) > size:
            recap = recap.replace(text, f"{text[: size - 1]}…")
    return recap


def empty_name_selects_nothing(deviation: Deviation, _matches: Match) -> bool:
    """An op with an empty name is refused like those that are recorded: a `start` and an `append` without a name."""
    calls = [*(_at(step, "call") for step in deviation.earlier), deviation.call]
    refused = [_with_refused_ops(call) for call in calls if isinstance(call, dict)]
    if refused == calls:
        return False
    *_, answer = answers(Phases, {"setup": deviation.setup}, refused)
    shown = _converted(
        answer, lambda text: text.replace("Missing phase name for append operation", "Missing phase name")
    )
    return all(key in shown and shown[key] == deviation.got.get(key) for key in deviation.keys)


def _with_refused_ops(value: Any) -> Any:
    match value:
        case {"op": op, **names} if op in SELECTING and not names.get("task") and not names.get("phase"):
            if names.get("task") is not None:
                return {"op": "start", "task": ""}
            return value if names.get("phase") is None else {"op": "append", "phase": "", "items": ["x"]}
        case dict():
            return {key: _with_refused_ops(item) for key, item in value.items()}
        case list():
            return [*map(_with_refused_ops, value)]
        case _:
            return value


def lossless_markdown(deviation: Deviation, _matches: Match) -> bool:
    """The original loses something, tildone nothing."""
    if deviation.op != "round_trip":
        return False
    read = {"op": "from_markdown", "markdown": deviation.got.get("markdown")}
    [read_back] = answers(Phases, {}, [read])
    return bool(deviation.got.get("lossless")) and read_back == {"phases": deviation.call.get("phases"), "errors": []}


def list_is_drawn(deviation: Deviation, _matches: Match) -> bool:
    """The original draws no list, tildone the one that the model reads."""
    call, drawn = deviation.call, deviation.got.get("markup")
    if deviation.op != "render_result" or call.get("name") != "list_todos" or deviation.want.get("markup") != NO_TODOS:
        return False
    told = "\n".join(str(block.get("text")) for block in _records(_at(call, "result", "content")))
    return isinstance(drawn, str) and _MARKUP.sub("", drawn) == told


def partial_call(deviation: Deviation, _matches: Match) -> bool:
    """The position of a call that is still arriving is not shown as null."""
    drawn = deviation.got.get("markup")
    return deviation.op == "render_call" and isinstance(drawn, str) and "null" not in drawn


def finished_before_breaker(deviation: Deviation, _matches: Match) -> bool:
    """The limit is not announced for a finished list."""
    if deviation.op != "agent_end" or deviation.want.get("decision") != "breaker":
        return False
    others = [effect for effect in _effects(deviation.want) if not _announces_limit(effect)]
    return bool(deviation.got.get("decision") == "skip:all_done" and deviation.got.get("effects") == others)


def no_nudge_after_error(deviation: Deviation, _matches: Match) -> bool:
    """A turn that ended with an error is not continued, so its countdown, prompt or announcement is missing."""
    if deviation.op == "agent_end":
        messages = _records(deviation.call.get("messages"))
        reasons = [message.get("stopReason") for message in messages if message.get("role") == "assistant"]
        sent = [each for each in _effects(deviation.got) if each.get("value") or each.get("type") != "widget"]
        return reasons[-1:] == ["error"] and deviation.got.get("decision") == "skip:errored" and not sent
    return "no-nudge-after-error" in deviation.shown and _nudges_are_missing(deviation)


def only_change_resets(deviation: Deviation, _matches: Match) -> bool:
    """A write that changes nothing leaves the count as it is, so the limit is reached."""
    if deviation.op == "agent_end":
        reached = (deviation.want.get("decision"), deviation.got.get("decision")) == ("continue", "breaker")
        return reached and _changed_nothing(deviation.earlier)
    return "only-change-resets" in deviation.shown and _nudges_are_missing(deviation)


def one_countdown(deviation: Deviation, _matches: Match) -> bool:
    """The end of a turn cancels the countdown of the turn before."""
    ends = [*deviation.earlier_ops, deviation.op].count("agent_end")
    return ends > 1 and deviation.only("effects") and _only_nudges_differ(deviation)


def prompt_at_send(deviation: Deviation, _matches: Match) -> bool:
    """The prompt is about the plan at the time when it is sent; a finished plan has none."""
    ops = deviation.earlier_ops
    since = ops[len(ops) - ops[::-1].index("agent_end") :] if "agent_end" in ops else []
    written = any(op in ("tool", "call", "session_start", "session_tree") for op in since)
    return deviation.op == "advance" and written and _only_nudges_differ(deviation)


def countdown_ends_with_branch(deviation: Deviation, _matches: Match) -> bool:
    """A switch to another conversation or branch ends the countdown."""
    switched = any(op in ("session_start", "session_tree") for op in deviation.earlier_ops)
    return switched and _nudges_are_missing(deviation)


def emptied_list_stays_empty(deviation: Deviation, _matches: Match) -> bool:
    """A list that was emptied is empty after a restart."""
    if "emptied-list-stays-empty" in deviation.shown:
        return bool(deviation.got.get("todos_after", []) == [])
    snapshots = [_at(entry, "message", "details") for entry in _records(deviation.call.get("branch"))]
    written = [
        details for details in snapshots if _at(details, "action") in ("write", "edit") and "error" not in details
    ]
    return bool(written) and written[-1].get("todos") == [] and deviation.got.get("todos") == []


def batch_survives_resume(deviation: Deviation, _matches: Match) -> bool:
    """The ops of a batch that were applied are still there when the session is opened again."""
    if deviation.op != "reopen" or not deviation.only("after"):
        return False
    opened = [
        {**phase, "tasks": [task for task in _records(phase.get("tasks")) if task.get("status") in _OPEN]}
        for phase in _records(deviation.got.get("before"))
    ]
    return bool(deviation.got.get("after") == [phase for phase in opened if phase["tasks"]])


_OPEN = ("pending", "in_progress")


def strict_types(deviation: Deviation, _matches: Match) -> bool:
    """The framework of the original converts more types; both refuse the others, in their own words."""
    if deviation.op == "validate":
        return bool(deviation.want.get("ok")) and deviation.got.get("ok") is False
    return _is_refused(deviation.got) and deviation.only("content", "details", "text")


def bad_calls_change_nothing(deviation: Deviation, _matches: Match) -> bool:
    """A call that violates the schema is refused, and changes nothing."""
    return _is_refused(deviation.got) and deviation.only("content", "details", "envelope", "isError", "text")


def malformed_snapshot_skipped(deviation: Deviation, _matches: Match) -> bool:
    """A malformed snapshot is skipped."""
    return deviation.op in OPENING and deviation.only("phases", "command_phases", "todos", "effects")


def unknown_fields_refused(deviation: Deviation, _matches: Match) -> bool:
    """Unknown fields are refused; nothing is logged."""
    code = _at(deviation.got, "envelope", "error", "code")
    return bool(code == "INVALID_PARAM") and deviation.only("envelope", "log", "json")


def _at(value: Any, *names: str) -> Any:
    """Return what is at this path of names in a record; None if there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _records(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _effects(answer: Json) -> list[Json]:
    return _records(answer.get("effects"))


def _converted(value: Any, convert: Callable[[str], str]) -> Any:
    match value:
        case str():
            return convert(value)
        case list():
            return [_converted(item, convert) for item in value]
        case dict():
            return {key: _converted(item, convert) for key, item in value.items()}
        case _:
            return value


def _is_refused(answer: Json) -> bool:
    failed = answer.get("isError") or answer.get("rejected") or _at(answer, "envelope", "status") == "error"
    return bool(failed or _at(answer, "details", "error"))


def _is_nudge(effect: Json) -> bool:
    return effect.get("type") in NUDGE or effect.get("key") in NUDGE


def _announces_limit(effect: Json) -> bool:
    return bool(_at(effect, "message", "customType") == LIMIT_REACHED)


def _only_nudges_differ(deviation: Deviation) -> bool:
    """Return whether only countdowns and prompts differ, and each is recorded, an end, or about the current list."""
    got, want = _effects(deviation.got), _effects(deviation.want)
    others = [[effect for effect in effects if not _is_nudge(effect)] for effects in (got, want)]
    lists = _lists_after(deviation.earlier)
    prompt = (
        INDEXED.carry_on(flat(*(Task(item["text"], STATUSES[item["status"]]) for item in lists[-1]))) if lists else ""
    )
    known = all(
        nudge in want or nudge.get("text") == prompt or ("value" in nudge and nudge["value"] is None)
        for nudge in filter(_is_nudge, got)
    )
    return deviation.only("effects", "decision") and others[0] == others[1] and known


def _nudges_are_missing(deviation: Deviation) -> bool:
    sent = [effect for effect in _effects(deviation.got) if effect.get("type") == "send_user_message"]
    return _only_nudges_differ(deviation) and not sent


def _changed_nothing(earlier: Sequence[Json]) -> bool:
    """Return whether the last successful write left the list as it was."""
    lists = _lists_after(earlier)
    return len(lists) > 1 and lists[-1] == lists[-2]


def _lists_after(earlier: Sequence[Json]) -> list[list[Json]]:
    """Return the lists that recorded answers contain as state."""
    lists = [_list_after(_at(step, "expect")) for step in earlier]
    return [todos for todos in lists if isinstance(todos, list) and all(map(is_item, todos))]


def _list_after(answer: Any) -> Any:
    details = _at(answer, "details")
    written = _at(details, "action") in ("write", "edit") and "error" not in details
    return _at(details, "todos") if written else _at(answer, "todos")


TEXT_RULES: dict[str, TextRule] = {
    "harmless-for-models": harmless_for_models,
    "one-line-per-task": one_line_per_task,
    "reminder-cannot-be-closed": reminder_cannot_be_closed,
}
"""For each difference by which characters are replaced, the rule."""

SHOWS: dict[str, Callable[[Deviation, Match], bool]] = {
    "bad-calls-change-nothing": bad_calls_change_nothing,
    "batch-survives-resume": batch_survives_resume,
    "bounded-texts": bounded_texts,
    "countdown-ends-with-branch": countdown_ends_with_branch,
    "empty-name-selects-nothing": empty_name_selects_nothing,
    "emptied-list-stays-empty": emptied_list_stays_empty,
    "finished-before-breaker": finished_before_breaker,
    "list-is-drawn": list_is_drawn,
    "lossless-markdown": lossless_markdown,
    "malformed-snapshot-skipped": malformed_snapshot_skipped,
    "no-nudge-after-error": no_nudge_after_error,
    "one-countdown": one_countdown,
    "only-change-resets": only_change_resets,
    "partial-call": partial_call,
    "prompt-at-send": prompt_at_send,
    "strict-types": strict_types,
    "unknown-fields-refused": unknown_fields_refused,
}
"""For each other difference that recordings show, the function that tells whether a deviation shows it."""

UNTAGGED = frozenset({"bounded-texts", "empty-name-selects-nothing", "harmless-for-models"})
"""The differences that a vector shows without a tag for them."""
