"""What the tags of a vector excuse: the deviations of the differences that have these tags, and no others.

A vector whose answers deviate is relaxed only if every deviating step shows a difference (`tildone.differences`) whose
id or one of whose tags is among the vector's tags.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.phases import Phases
from tildone.core.plan import Task, flat
from tildone.dialects.indexed.entries import STATUSES
from tildone.dialects.indexed.words import carry_on
from tildone.differences import DIFFERENCES

Json = dict[str, Any]
Match = Callable[[Any, Any], bool]

NUDGE = ("send_user_message", "til-done-countdown")
LIMIT_REACHED = "til-done-complete"
OPENING = ("latest_from_entries", "resume", "reconstruct", "session_start", "session_tree")
NO_TODOS = "<dim>No todos</dim>"

_LINE_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|⏎")
_ORIGINAL_TEXT = re.compile(" <!--tildone .*?-->")
_MARKUP = re.compile("</?[a-z]+>")


@dataclass(frozen=True)
class Deviation:
    """A step whose answer deviates: the steps before it, its call, both answers, and the keys that differ."""

    earlier: Sequence[Json]
    call: Json
    got: Json
    want: Json
    keys: Sequence[str]
    shown: frozenset[str]
    """The differences that earlier steps have shown."""

    def only(self, *keys: str) -> bool:
        """Return whether no other keys differ."""
        return set(self.keys) <= set(keys)


def shown_differences(deviation: Deviation, tags: Collection[str], matches: Match) -> frozenset[str]:
    """Return the ids of the differences with these tags that a deviation shows."""
    tagged = [difference.id for difference in DIFFERENCES if {difference.id, *difference.tags} & {*tags}]
    return frozenset(name for name in tagged if name in SHOWS and SHOWS[name](deviation, matches))


def one_line_per_task(deviation: Deviation, matches: Match) -> bool:
    """A line break in a text is shown as ⏎, and its exact text is in a comment of an exported file."""

    def folded(text: str) -> str:
        return _LINE_BREAKS.sub("\n", _ORIGINAL_TEXT.sub("", text.replace("‹", "<")))

    return _matches_converted(deviation, matches, folded)


def reminder_cannot_be_closed(deviation: Deviation, matches: Match) -> bool:
    """The angle bracket of a tag in a text is replaced."""
    return _matches_converted(deviation, matches, lambda text: text.replace("‹", "<"))


def lossless_markdown(deviation: Deviation, _matches: Match) -> bool:
    """The original loses something, tildone nothing."""
    call, got = deviation.call, deviation.got
    if call.get("op") != "round_trip":
        return False
    read_back = Phases({}).from_markdown({"markdown": got["markdown"]})
    return bool(got["lossless"]) and read_back == {"phases": call["phases"], "errors": []}


def list_is_drawn(deviation: Deviation, _matches: Match) -> bool:
    """The original draws no list, tildone the one that the model reads."""
    call = deviation.call
    if call.get("op") != "render_result" or call["name"] != "list_todos" or deviation.want["markup"] != NO_TODOS:
        return False
    drawn = _MARKUP.sub("", deviation.got["markup"])
    return drawn == "\n".join(str(block["text"]) for block in call["result"]["content"])


def partial_call(deviation: Deviation, _matches: Match) -> bool:
    """The position of a call that is still arriving is not shown as null."""
    return deviation.call.get("op") == "render_call" and "null" not in deviation.got["markup"]


def finished_before_breaker(deviation: Deviation, _matches: Match) -> bool:
    """The limit is not announced for a finished list."""
    if deviation.call.get("op") != "agent_end" or deviation.want["decision"] != "breaker":
        return False
    others = [effect for effect in deviation.want["effects"] if not _announces_limit(effect)]
    return bool(deviation.got["decision"] == "skip:all_done" and deviation.got["effects"] == others)


def no_nudge_after_error(deviation: Deviation, _matches: Match) -> bool:
    """A turn that ended with an error is not continued, so its countdown, prompt or announcement is missing."""
    call = deviation.call
    if call.get("op") == "agent_end":
        answers = [message for message in call["messages"] if message["role"] == "assistant"]
        failed = bool(answers) and answers[-1].get("stopReason") == "error"
        sent = [effect for effect in deviation.got["effects"] if effect.get("value") or effect["type"] != "widget"]
        return failed and deviation.got["decision"] == "skip:errored" and not sent
    return "no-nudge-after-error" in deviation.shown and _nudges_are_missing(deviation)


def only_change_resets(deviation: Deviation, _matches: Match) -> bool:
    """A write that changes nothing leaves the count as it is, so the limit is reached."""
    if deviation.call.get("op") == "agent_end":
        reached = (deviation.want["decision"], deviation.got["decision"]) == ("continue", "breaker")
        return reached and _changed_nothing(deviation.earlier)
    return "only-change-resets" in deviation.shown and _nudges_are_missing(deviation)


def one_countdown(deviation: Deviation, _matches: Match) -> bool:
    """The end of a turn cancels the countdown of the turn before."""
    ends = sum(step["call"]["op"] == "agent_end" for step in deviation.earlier)
    ends += deviation.call.get("op") == "agent_end"
    return ends > 1 and deviation.only("effects") and _only_nudges_differ(deviation)


def prompt_at_send(deviation: Deviation, _matches: Match) -> bool:
    """The prompt is about the plan at the time when it is sent; a finished plan has none."""
    calls = [step["call"]["op"] for step in deviation.earlier]
    since = calls[len(calls) - calls[::-1].index("agent_end") :] if "agent_end" in calls else []
    written = any(op in ("tool", "call", "session_start", "session_tree") for op in since)
    return deviation.call.get("op") == "advance" and written and _only_nudges_differ(deviation)


def countdown_ends_with_branch(deviation: Deviation, _matches: Match) -> bool:
    """A switch to another conversation or branch ends the countdown."""
    switched = any(step["call"]["op"] in ("session_start", "session_tree") for step in deviation.earlier)
    return switched and _nudges_are_missing(deviation)


def emptied_list_stays_empty(deviation: Deviation, _matches: Match) -> bool:
    """A list that was emptied is empty after a restart."""
    if "emptied-list-stays-empty" in deviation.shown:
        return bool(deviation.got.get("todos_after", []) == [])
    snapshots = [entry["message"].get("details") or {} for entry in deviation.call.get("branch", ())]
    written = [
        details for details in snapshots if details.get("action") in ("write", "edit") and "error" not in details
    ]
    return bool(written) and written[-1]["todos"] == [] and deviation.got["todos"] == []


def batch_survives_resume(deviation: Deviation, _matches: Match) -> bool:
    """The ops of a batch that were applied are still there when the session is opened again."""
    if deviation.call.get("op") != "reopen" or not deviation.only("after"):
        return False
    opened = [
        {**phase, "tasks": [task for task in phase["tasks"] if task["status"] in ("pending", "in_progress")]}
        for phase in deviation.got["before"]
    ]
    return bool(deviation.got["after"] == [phase for phase in opened if phase["tasks"]])


def strict_types(deviation: Deviation, _matches: Match) -> bool:
    """The framework of the original converts more types; both refuse the others, in their own words."""
    if deviation.call.get("op") == "validate":
        return bool(deviation.want["ok"]) and not deviation.got["ok"]
    return _is_refused(deviation.got) and deviation.only("content", "details", "text")


def bad_calls_change_nothing(deviation: Deviation, _matches: Match) -> bool:
    """A call that violates the schema is refused, and changes nothing."""
    return _is_refused(deviation.got) and deviation.only("content", "details", "envelope", "isError", "text")


def malformed_snapshot_skipped(deviation: Deviation, _matches: Match) -> bool:
    """A malformed snapshot is skipped."""
    return deviation.call.get("op") in OPENING and deviation.only("phases", "command_phases", "todos", "effects")


def unknown_fields_refused(deviation: Deviation, _matches: Match) -> bool:
    """Unknown fields are refused; nothing is logged."""
    error = deviation.got.get("envelope", {}).get("error", {})
    return error.get("code") == "INVALID_PARAM" and deviation.only("envelope", "log", "json")


def _matches_converted(deviation: Deviation, matches: Match, convert: Callable[[str], str]) -> bool:
    return all(
        key in deviation.got
        and matches(_converted(deviation.got[key], convert), _converted(deviation.want[key], convert))
        for key in deviation.keys
    )


def _converted(value: Any, convert: Callable[[str], str]) -> Any:
    match value:
        case str():
            return convert(value)
        case list():
            return [_converted(item, convert) for item in value]
        case dict():
            return {convert(key): _converted(item, convert) for key, item in value.items()}
        case _:
            return value


def _is_refused(answer: Json) -> bool:
    failed = answer.get("isError") or answer.get("rejected") or answer.get("envelope", {}).get("status") == "error"
    return bool(failed or "error" in (answer.get("details") or {}))


def _is_nudge(effect: Json) -> bool:
    return effect["type"] in NUDGE or effect.get("key") in NUDGE


def _announces_limit(effect: Json) -> bool:
    return bool(effect.get("message", {}).get("customType") == LIMIT_REACHED)


def _only_nudges_differ(deviation: Deviation) -> bool:
    """Return whether only countdowns and prompts differ, and each is recorded, an end, or about the current list."""
    got, want = deviation.got["effects"], deviation.want["effects"]
    others = [[effect for effect in effects if not _is_nudge(effect)] for effects in (got, want)]
    lists = [todos for step in deviation.earlier if (todos := _list_after(step["expect"])) is not None]
    prompt = carry_on(flat(*(Task(item["text"], STATUSES[item["status"]]) for item in lists[-1]))) if lists else ""
    known = all(
        nudge in want or nudge.get("text") == prompt or ("value" in nudge and nudge["value"] is None)
        for nudge in filter(_is_nudge, got)
    )
    return deviation.only("effects", "decision") and others[0] == others[1] and known


def _nudges_are_missing(deviation: Deviation) -> bool:
    sent = [effect for effect in deviation.got["effects"] if effect["type"] == "send_user_message"]
    return _only_nudges_differ(deviation) and not sent


def _changed_nothing(earlier: Sequence[Json]) -> bool:
    """Return whether the last successful write left the list as it was."""
    lists = [todos for step in earlier if (todos := _list_after(step["expect"])) is not None]
    return len(lists) > 1 and lists[-1] == lists[-2]


def _list_after(answer: Json) -> list[Json] | None:
    """Return the list that an answer contains as state."""
    details = answer.get("details") or {}
    written = details.get("action") in ("write", "edit") and "error" not in details
    todos: list[Json] | None = details["todos"] if written else answer.get("todos")
    return todos


SHOWS: dict[str, Callable[[Deviation, Match], bool]] = {
    "bad-calls-change-nothing": bad_calls_change_nothing,
    "batch-survives-resume": batch_survives_resume,
    "countdown-ends-with-branch": countdown_ends_with_branch,
    "emptied-list-stays-empty": emptied_list_stays_empty,
    "finished-before-breaker": finished_before_breaker,
    "list-is-drawn": list_is_drawn,
    "lossless-markdown": lossless_markdown,
    "malformed-snapshot-skipped": malformed_snapshot_skipped,
    "no-nudge-after-error": no_nudge_after_error,
    "one-countdown": one_countdown,
    "one-line-per-task": one_line_per_task,
    "only-change-resets": only_change_resets,
    "partial-call": partial_call,
    "prompt-at-send": prompt_at_send,
    "reminder-cannot-be-closed": reminder_cannot_be_closed,
    "strict-types": strict_types,
    "unknown-fields-refused": unknown_fields_refused,
}
"""For each difference that recordings show, the function that tells whether a deviation shows it."""
