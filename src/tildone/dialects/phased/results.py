"""The schema of the details that `todo_write` returns."""

from tildone.core.plan import Status
from tildone.dialects.schema import TEXT, array, enumeration, record

_TASK = record(
    "content",
    "status",
    content=TEXT,
    status=enumeration(*(status.value for status in Status)),
    notes=array(TEXT),
)
RESULT = record(
    "phases",
    "storage",
    phases=array(record("name", "tasks", name=TEXT, tasks=array(_TASK))),
    storage=enumeration("session", "memory"),
    completedTasks=array(record("phase", "content", phase=TEXT, content=TEXT)),
)
