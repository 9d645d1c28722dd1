"""What breaks on our side is told in the same envelope as everything else."""

from tildone.dialects.declared.envelope import internal_error


def test_an_internal_error_is_told_as_one() -> None:
    reply = internal_error("StoreBusy: held", {"summary": "s", "todos": []})

    assert reply.is_error
    assert list(reply.details) == ["status", "data", "text", "stats", "context", "error"]
    assert reply.details["error"] == {"code": "INTERNAL_ERROR", "message": "nothing was changed: StoreBusy: held"}
    assert reply.details["context"]["params_input"] == {"summary": "s", "todos": []}
