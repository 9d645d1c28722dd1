"""Internal errors are reported in the envelope."""

from tildone.plan.dialects.declared import internal_error


def test_an_internal_error_has_its_own_code() -> None:
    reply = internal_error("StoreBusy: held", {"summary": "s", "todos": []})

    assert reply.is_error
    assert list(reply.details) == ["status", "data", "text", "stats", "context", "error"]
    assert reply.details["error"] == {"code": "INTERNAL_ERROR", "message": "nothing was changed: StoreBusy: held"}
    assert reply.details["context"]["params_input"] == {"summary": "s", "todos": []}
