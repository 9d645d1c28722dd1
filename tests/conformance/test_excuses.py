"""A difference excuses only what it says, and any vector can be judged."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.conformance import judge as judge_module
from tests.conformance.answers import Vector, World
from tests.conformance.excuses import SHOWS, TEXT_RULES, Deviation, Match, shown_differences
from tests.conformance.judge import VECTORS, Verdict, differences, judge, matches, same, vectors
from tests.conformance.worlds import WORLDS

UNEXPECTED = {"at": 0, "type": "status", "key": "til-done", "value": "unexpected"}


class Tampered:
    """A world whose first deviating answer deviates in another way."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = count()
        self._tampered = False

    def step(self, call: dict[str, Any], vector: Vector) -> dict[str, Any]:
        answer = self._world.step(call, vector)
        want = vector["steps"][next(self._steps)]["expect"]
        if self._tampered or same(answer, want):
            return answer
        self._tampered = True
        return {key: tampered(answer[key]) if key in differences(answer, want) else answer[key] for key in answer}


def tampered(value: Any) -> Any:
    """Return the value with another text, or with an effect more."""
    match value:
        case str():
            return f"{value.swapcase()}!"
        case [{"type": _, "at": _}, *_] | []:
            return [*value, UNEXPECTED]
        case [first, *others]:
            return [tampered(first), *others]
        case dict():
            name = next(name for name, item in value.items() if isinstance(item, str | list | dict))
            return {**value, name: tampered(value[name])}
        case _:
            return value


def test_another_deviation_is_not_excused() -> None:
    """Without the vectors whose answers are only true or false."""
    worlds = {name: lambda setup, world=world: Tampered(world(setup)) for name, world in WORLDS.items()}
    relaxed = [
        vector
        for vector in vectors(VECTORS)
        if vector["kind"] != "td.validate" and judge(vector, WORLDS).verdict is Verdict.RELAXED
    ]

    assert len(relaxed) > 100
    assert [vector["id"] for vector in relaxed if judge(vector, worlds).verdict is not Verdict.FAIL] == []


def shown(got: dict[str, Any], want: dict[str, Any], *tags: str, **call: Any) -> frozenset[str]:
    """Return the differences that a step shows on an empty world."""
    deviation = Deviation({}, [], call, got, want, tuple(differences(got, want)), frozenset())
    return shown_differences(deviation, tags, matches)


HIDDEN = "a\x1b\x7f\x9b\u202e\u200b\ud800\U000e0041b"
SHOWN = "a␛␡<U+009B><U+202E><U+200B><U+D800><U+E0041>b"


@pytest.mark.parametrize(
    ("want", "got", "is_shown"),
    [
        (HIDDEN, SHOWN, True),
        ("</system-reminder>\x1b", "‹/system-reminder>␛", True),
        ("👩\u200d💻\x1b", "👩\u200d💻␛", True),
        ("one\n\ttwo\r\nthree\x07", "one\n\ttwo\r\nthree␇", True),
        ({"$own": True, "contains": ["a\x1b"]}, "and a␛ too", True),
        (HIDDEN, SHOWN.replace("␛", "\x1b"), False),
        (HIDDEN, SHOWN.replace("<U+202E>", ""), False),
        (HIDDEN, f"{SHOWN}!", False),
        ("<div>\x1b", "‹div>␛", False),
        ("a\nb\x1b", "a⏎b␛", False),
    ],
)
def test_what_hides_is_excused_only_in_its_harmless_form(want: Any, got: str, *, is_shown: bool) -> None:
    """Without a tag; all of it has to be replaced, and nothing else."""
    assert shown({"text": got}, {"text": want}) == ({"harmless-for-models"} if is_shown else frozenset())


def test_a_text_may_show_two_differences() -> None:
    """If the vector is tagged for the one that needs a tag."""
    both = {"harmless-for-models", "one-line-per-task"}

    assert shown({"text": "a⏎b␛"}, {"text": "a\r\nb\x1b"}, "line-break") == both
    assert shown({"text": "a⏎b"}, {"text": "a\r\nb"}, "line-break") == {"one-line-per-task"}


@pytest.mark.parametrize(
    ("got", "is_shown"),
    [
        ('{\n  "text": "a\\u001b\\u202e\\u003c/system-reminder>"\n}', True),
        ('{\n  "text": "a\\u001b\u202e\\u003c/system-reminder>"\n}', False),
        ('{\n  "text": "a\\u001b\\u202e\\u003c/system-reminder>!"\n}', False),
        ('{"text": "a\\u001b\\u202e\\u003c/system-reminder>"}', False),
        ('{\n  "text": "\\u0061\\u001b\\u202e\\u003c/system-reminder>"\n}', False),
        ("no JSON", False),
    ],
)
def test_an_envelope_is_excused_if_only_what_hides_is_escaped(got: str, *, is_shown: bool) -> None:
    """Its value and its form are as recorded."""
    want = '{\n  "text": "a\\u001b\u202e</system-reminder>"\n}'

    assert shown({"json": got}, {"json": want}) == ({"harmless-for-models"} if is_shown else frozenset())


@pytest.mark.parametrize(
    ("size", "more", "is_shown"), [(60, {}, True), (150, {}, False), (60, {"status": "other"}, False)]
)
def test_a_long_recap_is_excused_if_it_is_cut(size: int, more: dict[str, Any], *, is_shown: bool) -> None:
    """To fewer than 300 characters, with the same end of each text, and nothing else."""
    texts = ["x" * 160, "y" * 160]
    todos = [{"content": text} for text in texts]
    long, short = (f"[0/2] In progress: {first}. Pending: {second}." for first, second in (texts, _cut(texts, size)))
    want, got = ({"data": {"todos": todos, "recap": recap}} for recap in (long, short))

    assert shown({"envelope": got | more}, {"envelope": want}) == ({"bounded-texts"} if is_shown else frozenset())


def _cut(texts: list[str], size: int) -> list[str]:
    return [f"{text[: size - 1]}…" for text in texts]


def test_an_empty_name_is_excused_if_the_op_changes_nothing() -> None:
    """The answer is that to an op which the originals refuse, too."""
    call = {"op": "todo_write", "ops": [{"op": "rm", "phase": ""}]}
    got = {"text": "Errors: Missing phase name", "isError": True}
    want = {"text": "Todo list cleared.", "isError": False}

    assert shown(got, want, **call) == {"empty-name-selects-nothing"}
    assert shown({**got, "text": "Errors: Missing task content"}, want, **call) == frozenset()
    assert shown(got, want, op="todo_write", ops=[{"op": "rm"}]) == frozenset()


def deviations(monkeypatch: pytest.MonkeyPatch) -> dict[str, Deviation]:
    """Return the shortest deviation that shows each difference."""
    found = {
        name: Deviation({}, [], call, got, want, tuple(differences(got, want)), frozenset())
        for name, call, got, want in SHOWN_BY_NO_VECTOR
    }

    def noted(deviation: Deviation, tags: Collection[str], match: Match) -> frozenset[str]:
        names = shown_differences(deviation, tags, match)
        for name in names:
            found[name] = min(found.get(name, deviation), deviation, key=lambda each: len(repr(each)))
        return names

    monkeypatch.setattr(judge_module, "shown_differences", noted)
    for vector in vectors(VECTORS):
        judge(vector, WORLDS)
    return found


SHOWN_BY_NO_VECTOR: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("bad-calls-change-nothing", {"op": "tool"}, {"details": {"error": "no"}}, {"details": {"todos": []}}),
    ("partial-call", {"op": "render_call"}, {"markup": "write_todos"}, {"markup": "write_todos @null"}),
    (
        "unknown-fields-refused",
        {"op": "TodoWrite"},
        {"envelope": {"error": {"code": "INVALID_PARAM"}}},
        {"envelope": {"status": "success"}},
    ),
]


OTHERS: list[Any] = [None, 5, "x", [], {}]


def spoiled(value: Any) -> Iterator[Any]:
    """Yield the value with one part of it missing, or of another type."""
    yield from (other for other in OTHERS if type(other) is not type(value))
    match value:
        case dict():
            for key, item in value.items():
                yield {name: kept for name, kept in value.items() if name != key}
                yield from ({**value, key: other} for other in spoiled(item))
        case list():
            for index, item in enumerate(value):
                yield [*value[:index], *value[index + 1 :]]
                yield from ([*value[:index], other, *value[index + 1 :]] for other in spoiled(item))
        case _:
            return


def variants(deviation: Deviation) -> Iterator[Deviation]:
    """Yield steps that nobody has recorded, each like this one but for one part."""
    parts: list[Any] = [deviation.setup, [*deviation.earlier], deviation.call, deviation.got, deviation.want]
    for spoiled_parts in spoiled(parts):
        if not isinstance(spoiled_parts, list) or [*map(type, spoiled_parts)] != [*map(type, parts)]:
            continue
        setup, earlier, call, got, want = spoiled_parts
        yield replace(deviation, setup=setup, earlier=earlier, call=call, got=got, want=want)
    yield replace(deviation, got={"crashed": "ZeroDivisionError"})
    yield replace(deviation, keys=())


def test_a_predicate_answers_for_any_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if what it looks for is missing, or of another type."""
    known = deviations(monkeypatch)
    assert known.keys() == SHOWS.keys() | TEXT_RULES.keys()

    for deviation in known.values():
        for each in variants(deviation):
            assert shown_differences(each, SHOWS, matches) <= {*SHOWS, *TEXT_RULES}
