"""The exit codes of the program, for its help and its manual page."""

from __future__ import annotations

from tildone.cli import INTERRUPTED, PIPE_BROKEN
from tildone.errors import NotFound, Refused, RunFenced, StoreError, TildoneError, UsageError

EXIT_CODES = (
    (0, "Success. A hook ends so after an error, too, so that it never holds an agent up."),
    (TildoneError.exit_code, "A failure: a file cannot be read or written, a run did not finish its plan."),
    (UsageError.exit_code, "The command line or a setting is invalid."),
    (Refused.exit_code, "The request cannot be applied to this plan, and nothing changed; or a check did not pass."),
    (NotFound.exit_code, "The named task, phase, event, file or store does not exist."),
    (StoreError.exit_code, "The store failed, or tildone doctor found an error."),
    (RunFenced.exit_code, "The run of a fleet that this process works for has passed to another worker, or has ended."),
    (INTERRUPTED, "Interrupted with Ctrl-C."),
    (PIPE_BROKEN, "The reader of standard output ended early."),
)
"""Each exit code with its meaning. `tildone.errors` states the codes of errors."""
