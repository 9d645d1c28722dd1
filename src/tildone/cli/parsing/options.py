"""Options that several verbs take."""

from tildone.cli.parsing.table import Option

SESSION = Option(
    "session", "NAME", "The session to use, by name or title; default: $TILDONE_SESSION, else the project's."
)
STORE = Option("store", "STORE", "{stores}; default: $TILDONE_STORE, else your own file.")
DIALECT = Option("dialect", "NAME", "{dialects}; default: $TILDONE_DIALECT, else the session's own.")
FORCE = Option("force", "", "Do it without this check.")
JSON = Option("json", "", "Print JSON.")
DRY_RUN = Option("dry-run", "", "Show what would change; change nothing.")
