"""The judge of conformance, and what excuses a difference."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import judge as judge_module
from tests.conformance.__main__ import main, table
from tests.conformance.answers import Vector, World
from tests.conformance.excuses import SHOWS, TEXT_RULES, Deviation, Match, shown_differences
from tests.conformance.judge import VECTORS, Judgement, Verdict, differences, judge, matches, same, vectors
from tests.conformance.worlds import WORLDS


class Echo:
    """A world that echoes the call; a value that is not JSON makes it crash."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.answer = setup.get("answer", {})

    def step(self, call: dict[str, Any], _vector: dict[str, Any]) -> dict[str, Any]:
        if call.get("crash"):
            raise ZeroDivisionError(call["crash"])
        return {**self.answer, **call}


ECHO = {"echo": Echo}
ROOT = Path(__file__).parents[2]


def vector(*steps: tuple[dict[str, Any], dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"system": "echo", "steps": [{"call": call, "expect": expect} for call, expect in steps], **more}


@pytest.mark.parametrize(
    ("got", "want", "equal"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, None, True),
        ("absent", None, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ("a", ["a"], False),
        ("a", {"a": 1}, False),
        ("our words", {"$own": True}, True),
        (" ", {"$own": True}, False),
        (5, {"$own": True}, False),
        ("our words", {"$own": True, "contains": ["our", "words"]}, True),
        ("our words", {"$own": True, "contains": ["theirs"]}, False),
    ],
)
def test_values_match_deeply_and_in_type(got: object, want: object, *, equal: bool) -> None:
    """Except for `$own` texts, which only have to contain the given pieces."""
    assert matches(got, want) is equal


def test_informative_and_unexpected_keys_do_not_count() -> None:
    """A missing key does."""
    want = {"a": 1, "rendered": 1, "coerced": 1, "source": 1, "info_x": 1, "upstream_y": 1}

    assert differences({"a": 1, "b": 2}, want) == {}
    assert differences({}, want) == {"a": {"want": 1, "got": "absent"}}


def test_for_a_call_that_raised_only_the_state_after_it_counts() -> None:
    """It may fail in another way, but it must not corrupt the list."""
    want = {"throws": True, "todos_after": [1], "text": "boom"}

    assert same({"crashed": "boom"}, want)
    assert same({"todos_after": [1]}, want)
    assert not same({"todos_after": []}, want)


def test_a_vector_passes_when_every_step_does() -> None:
    """The world is created from the vector's setup."""
    good = vector(({"x": 1}, {"x": 1, "s": 2}), ({}, {"s": 2}), setup={"answer": {"s": 2}})

    assert judge(good, ECHO) == Judgement(Verdict.PASS)


def test_the_first_difference_is_reported() -> None:
    """With its step and call."""
    bad = vector(({"x": 1}, {"x": 1}), ({"x": 2}, {"x": 3}), ({"x": 4}, {"x": 5}))

    assert judge(bad, ECHO) == Judgement(
        Verdict.FAIL, {"step": 1, "call": {"x": 2}, "differs": {"x": {"want": 3, "got": 2}}}
    )


def test_what_relaxes_a_vector_is_told() -> None:
    """The difference that its answers show."""
    judged = judge(vector(({"text": "a⏎b"}, {"text": "a\nb"}), tags=["line-break"]), ECHO)

    assert (judged.verdict, judged.shown) == (Verdict.RELAXED, frozenset({"one-line-per-task"}))


@pytest.mark.parametrize(
    ("tag", "answer", "verdict"),
    [
        ("line-break", "a⏎b", Verdict.RELAXED),
        ("line-break", "a c", Verdict.FAIL),
        ("js-whitespace", "a⏎b", Verdict.FAIL),
    ],
)
def test_a_tag_excuses_the_difference_that_it_names(tag: str, answer: str, verdict: Verdict) -> None:
    """A tag that only describes the input excuses nothing."""
    assert judge(vector(({"text": answer}, {"text": "a\nb"}), tags=[tag]), ECHO).verdict is verdict


def test_every_deviating_step_needs_an_excuse() -> None:
    """And the one that has none is reported."""
    good, bad = ({"text": "a⏎b"}, {"text": "a\nb"}), ({"text": "a"}, {"text": "b"})

    judged = judge(vector(good, bad, tags=["line-break"]), ECHO)

    assert judged.verdict is Verdict.FAIL
    assert judged.first_difference
    assert judged.first_difference["step"] == 1


def test_an_alternative_is_accepted_only_as_a_whole() -> None:
    """The two readings cannot be mixed."""
    steps = (({"x": 1}, {"x": 9}), ({"x": 2}, {"x": 2}))

    other = vector(*steps, alt_expects={"expects": [{"x": 1}, {"x": 2}]})
    mixed = vector(*steps, alt_expects={"expects": [{"x": 1}, {"x": 3}]})

    assert judge(other, ECHO).verdict is Verdict.ALTERNATIVE
    assert judge(mixed, ECHO).verdict is Verdict.FAIL


def test_a_crash_fails_regardless_of_the_tags() -> None:
    """Unless the original crashed, too."""
    crash = {"crash": "here"}

    assert judge(vector((crash, {}), tags=["upstream-bug"]), ECHO).verdict is Verdict.FAIL
    assert judge(vector((crash, {"throws": True})), ECHO).verdict is Verdict.PASS
    assert judge(vector(({}, {}), setup=["x"]), ECHO).verdict is Verdict.FAIL


def test_the_table_has_a_row_for_each_kind_and_verdict() -> None:
    """Followed by the differences that the relaxed ones show, and the totals."""
    counts = Counter({("b", Verdict.PASS): 2, ("b", Verdict.RELAXED): 1, ("a", Verdict.FAIL): 3})

    assert table(counts, Counter({"one-countdown": 1})) == [
        "a                    FAIL     3",
        "b                    pass     2",
        "b                    relaxed  1",
        "one-countdown                  1",
        "3 passed, 3 failed",
        "strict 2 alternative 0 relaxed 1 failed 3",
    ]


def test_judging_nothing_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """A prefix that matches no kind is a typing error."""
    assert main(["--only", "no such kind"]) == 1
    assert capsys.readouterr().out.startswith("0 passed")


def test_a_failure_is_printed_whatever_the_vector_contains(tmp_path: Path) -> None:
    """Also if it holds half of a surrogate pair, which no terminal can show."""
    failing = vector(({"op": "list_text", "todos": []}, {"text": "\ud800"}), kind="td.text", id="1", note="half \udfff")
    (tmp_path / "td.text.jsonl").write_text(json.dumps({**failing, "system": "til-done"}), encoding="utf-8")

    told = subprocess.run(
        [sys.executable, "-m", "tests.conformance", str(tmp_path)], capture_output=True, check=False, cwd=ROOT
    )

    assert told.returncode == 1, told.stderr.decode()
    assert b"FAIL 1 half \\udfff" in told.stdout
    assert b'"want": "\\ud800"' in told.stdout


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
