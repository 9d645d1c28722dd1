"""The judge is as strict as the recordings demand."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main, table
from tests.conformance.judge import Judgement, Verdict, differences, judge, matches, same


class Echo:
    """A world that echoes the call; a value that is not JSON makes it crash."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.answer = setup.get("answer", {})

    def step(self, call: dict[str, Any], _vector: dict[str, Any]) -> dict[str, Any]:
        if call.get("crash"):
            raise ZeroDivisionError(call["crash"])
        return {**self.answer, **call}


WORLDS = {"echo": Echo}
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

    assert judge(good, WORLDS) == Judgement(Verdict.PASS)


def test_the_first_difference_is_reported() -> None:
    """With its step and call."""
    bad = vector(({"x": 1}, {"x": 1}), ({"x": 2}, {"x": 3}), ({"x": 4}, {"x": 5}))

    assert judge(bad, WORLDS) == Judgement(
        Verdict.FAIL, {"step": 1, "call": {"x": 2}, "differs": {"x": {"want": 3, "got": 2}}}
    )


def test_what_relaxes_a_vector_is_told() -> None:
    """The difference that its answers show."""
    judged = judge(vector(({"text": "a⏎b"}, {"text": "a\nb"}), tags=["line-break"]), WORLDS)

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
    assert judge(vector(({"text": answer}, {"text": "a\nb"}), tags=[tag]), WORLDS).verdict is verdict


def test_every_deviating_step_needs_an_excuse() -> None:
    """And the one that has none is reported."""
    good, bad = ({"text": "a⏎b"}, {"text": "a\nb"}), ({"text": "a"}, {"text": "b"})

    judged = judge(vector(good, bad, tags=["line-break"]), WORLDS)

    assert judged.verdict is Verdict.FAIL
    assert judged.first_difference
    assert judged.first_difference["step"] == 1


def test_an_alternative_is_accepted_only_as_a_whole() -> None:
    """The two readings cannot be mixed."""
    steps = (({"x": 1}, {"x": 9}), ({"x": 2}, {"x": 2}))

    other = vector(*steps, alt_expects={"expects": [{"x": 1}, {"x": 2}]})
    mixed = vector(*steps, alt_expects={"expects": [{"x": 1}, {"x": 3}]})

    assert judge(other, WORLDS).verdict is Verdict.ALTERNATIVE
    assert judge(mixed, WORLDS).verdict is Verdict.FAIL


def test_a_crash_fails_regardless_of_the_tags() -> None:
    """Unless the original crashed, too."""
    crash = {"crash": "here"}

    assert judge(vector((crash, {}), tags=["upstream-bug"]), WORLDS).verdict is Verdict.FAIL
    assert judge(vector((crash, {"throws": True})), WORLDS).verdict is Verdict.PASS
    assert judge(vector(({}, {}), setup=["x"]), WORLDS).verdict is Verdict.FAIL


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
