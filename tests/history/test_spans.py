"""The ids of spans, and their place in a trace as text."""

import pytest

from tildone.plan.history.spans import SpanPlace, place_in, span_id, trace_id

HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_ids_follow_from_what_a_span_is_about() -> None:
    assert span_id("task", 1) == span_id("task", 1)
    assert len({span_id("task", 1), span_id("task", 2), span_id("task1"), span_id("tas", "k1")}) == 4
    assert 0 < span_id("a") < 1 << 64
    assert 0 < trace_id("a") < 1 << 128
    assert span_id("\ud800")


def test_a_place_is_written_and_read_as_a_traceparent() -> None:
    place = place_in(HEADER)

    assert place == SpanPlace(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
    assert place.traceparent == HEADER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-0af7-b7ad-01",
        HEADER.replace("-01", ""),
        HEADER.replace("0af7", "0AF7"),
        HEADER.replace("0af7", "zzzz"),
        "ff" + HEADER[2:],
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    ],
)
def test_another_form_is_no_place(text: str) -> None:
    assert place_in(text) is None
