"""Options that several verbs take."""

from tildone.cli.parsing.args import Option
from tildone.stores import placeholders

SESSION = Option("session", "NAME", "which session; else $TILDONE_SESSION, else this project's")
STORE = Option("store", "STORE", f"{placeholders()}; else $TILDONE_STORE, else a file of yours")
DIALECT = Option("dialect", "NAME", "indexed, phased, declared or brief; else $TILDONE_DIALECT, else the session's own")
FORCE = Option("force", "", "do it all the same")
JSON = Option("json", "", "print JSON")
