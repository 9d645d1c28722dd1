"""`Reply.failed` reports whether the call was refused."""

import pytest

from tildone.plan.dialects import Reply


@pytest.mark.parametrize(
    ("reply", "failed"),
    [
        (Reply("ok", {}), False),
        (Reply("no", {}, is_error=True), True),
        (Reply("no", {"error": "index required for insert"}), True),
        (Reply("ok", {"error": ""}), False),
    ],
)
def test_a_refusal_is_a_flag_or_an_error_in_the_details(reply: Reply, *, failed: bool) -> None:
    assert reply.failed is failed
