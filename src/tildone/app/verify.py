"""Whether a check proves anything: one that passes in an empty folder does not depend on the work.

The command is run once more for it, so that this is asked only when a person has approved exactly this command.
"""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from tildone.app.proofs import run_command
from tildone.base import TYPE_CHECKING
from tildone.plan.text.proofs import check_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.plan.model import Check

SECONDS = 3.0
"""How long the command may take; of one that takes longer, nothing is said."""


def warnings_about(checks: Iterable[Check]) -> list[str]:
    """Return what a person should know about checks that they have approved: which also pass in an empty folder."""
    said = "this check seems to always pass: it passed in an empty folder, too"
    return [f"{said}: {check_text(check)}" for check in checks if _passes(check)]


def _passes(check: Check) -> bool:
    # What it leaves behind may be in use for a moment.
    with TemporaryDirectory(prefix="tildone-", ignore_cleanup_errors=True) as folder:
        return run_command(check.command, folder, min(SECONDS, check.seconds), os.environ).exit_code == 0
