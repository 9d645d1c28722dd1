"""The schema of the details that `write_todos` and `edit_todos` return."""

from tildone.dialects.indexed.words import WORDS
from tildone.dialects.schema import TEXT, array, enumeration, record

_ITEM = record("text", "status", text=TEXT, status=enumeration(*WORDS.values()))
RESULT = record("action", "todos", action=TEXT, todos=array(_ITEM), error=TEXT)
