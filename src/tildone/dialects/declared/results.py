"""The schema of the envelope that `TodoWrite` returns."""

from tildone.dialects.declared.params import STATUSES
from tildone.dialects.schema import ANYTHING, INTEGER, TEXT, array, enumeration, record

_ITEM = record("id", "content", "status", id=TEXT, content=TEXT, status=enumeration(*STATUSES))
RESULT = record(
    "status",
    "data",
    "text",
    "stats",
    "context",
    status=enumeration("success", "error"),
    data={
        "type": "object",
        "properties": {"todos": array(_ITEM), "recap": TEXT, "summary": TEXT, "persisted_to": TEXT},
    },
    text=TEXT,
    stats={"type": "object", "additionalProperties": INTEGER},
    context=record("cwd", "params_input", cwd=TEXT, params_input=ANYTHING),
    error=record("code", "message", code=TEXT, message=TEXT),
)
