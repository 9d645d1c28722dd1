"""Records beside the log: presences and questions as JSON text, their bounds, and counts by time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base import replace
from tildone.log.kept import counts_of, filled
from tildone.log.needs import (
    ANSWERED_LIFETIME_MS,
    Need,
    NeedAnswered,
    answered,
    decode_need,
    decode_needs,
    encode_need,
    open_needs,
    without_old,
)
from tildone.log.presence import AT_WORK_MS, Presence, decode_presences, encode_presence, with_presence

NEED = Need("n", "s", "command", "ls", ("once", "no"), 5)
PRESENCE = Presence("claude:1", "s", beat=1_000_000)


@pytest.mark.parametrize(
    "text",
    [None, 7, "", "{", "[]", "{}", '{"agent":"a"}', '{"agent":3,"session":"s"}', '{"agent":"a","session":["s"]}'],
)
def test_what_is_no_record_is_left_out(text: object) -> None:
    assert decode_presences([text, encode_presence(PRESENCE)]) == [PRESENCE]
    assert decode_needs([text, encode_need(NEED)]) == [NEED]


def test_later_fields_are_ignored_and_missing_ones_have_their_defaults() -> None:
    text = '{"id":"n","session":"s","kind":"input","text":"?","colour":"red","options":null}'

    assert decode_need(text) == Need("n", "s", "input", "?")


def test_a_cost_that_is_no_number_is_unknown() -> None:
    assert decode_presences([encode_presence(replace(PRESENCE, cost=float("nan")))]) == [PRESENCE]


@given(st.text(), st.lists(st.text()))
def test_any_text_survives_in_ascii(text: str, options: list[str]) -> None:
    need = Need(text, text, text, text, tuple(options), 1, text, text, text, text, 2)
    presence = Presence(text, text, text, text, text, text, 1, text, 2, 0.5, 3)

    assert decode_need(encode_need(need)) == need
    assert decode_presences([encode_presence(presence)]) == [presence]
    assert encode_need(need).isascii()
    assert encode_presence(presence).isascii()


def test_an_agent_is_at_work_for_ninety_seconds_after_its_sign_of_life() -> None:
    assert PRESENCE.at_work(PRESENCE.beat + AT_WORK_MS - 1)
    assert not PRESENCE.at_work(PRESENCE.beat + AT_WORK_MS)


def test_presences_are_ordered_by_agent() -> None:
    others = [Presence(name, "s", beat=1_000_000) for name in ("z", "a")]

    assert with_presence(others, PRESENCE) == [*others, PRESENCE]
    assert [each.agent for each in decode_presences(map(encode_presence, [*others, PRESENCE]))] == [
        "a",
        "claude:1",
        "z",
    ]


def test_a_need_is_answered_once() -> None:
    decided = answered(NEED, "no", "Ada", 0)

    assert (decided.answer, decided.answered_by, decided.is_open) == ("no", "Ada", False)
    with pytest.raises(NeedAnswered, match="already answered: 'no'") as refused:
        answered(decided, "once", "Bob", 9)
    assert refused.value.need == decided


def test_old_answers_go_and_open_needs_stay() -> None:
    old, recent = (answered(replace(NEED, id=str(at)), "no", "Ada", at) for at in (9, 10))

    kept = without_old([recent, old, NEED], 10 + ANSWERED_LIFETIME_MS)

    assert kept == [NEED, recent]
    assert open_needs([recent, replace(NEED, id="m"), NEED]) == [replace(NEED, id="m"), NEED]


def test_times_are_counted_in_equal_intervals() -> None:
    assert counts_of([0, 9, 10, 99, 100, -1], 0, 100, 10) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert counts_of([5], 5, 5, 2) == [0, 0]
    assert filled([(1, 7)], 3) == [0, 7, 0]


@given(st.lists(st.integers(0, 1000)), st.integers(1, 50))
def test_every_time_between_is_counted_once(times: list[int], buckets: int) -> None:
    assert sum(counts_of(times, 0, 1001, buckets)) == len(times)


def test_a_question_about_a_dangerous_command_says_why() -> None:
    kinds = ("command", "check", "change", "input")

    assert [Need("n", "s", kind, "rm -rf build").caution for kind in kinds] == [
        *["Careful: it deletes files."] * 2,
        *["", ""],
    ]
