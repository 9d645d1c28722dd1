"""The report of a run in Markdown: how it ended, its plan, and the log of that plan."""

from __future__ import annotations

import os

from tildone.files.atomic import replace_file
from tildone.files.boundary import path_of
from tildone.files.private import make_private_folder
from tildone.formats.markdown.writer import lossless_checklist
from tildone.history.timeline import timeline
from tildone.history.timeline_lines import rows_lines
from tildone.ids import timestamp
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.names import FileName


def run_report(hands: Sequence[Lease], plan: Plan, events: Sequence[Event], head: str | None) -> str:
    """Return the report of a run, given the leases of its hands.

    Texts of tasks and agents cannot add headings or markup to it.
    """
    lease = hands[0]
    lines = [f"# Run {lease.run}", "", f"- Queued: {timestamp(lease.made)}"]
    lines += [f"- {_hand(each, len(hands))}: {each.state.value}, since {timestamp(each.since)}" for each in hands]
    work = lease.work
    named = (("Agent", work.agent), ("Model", work.model), ("Repository", work.repo), ("Plan", lease.session))
    lines += [f"- {name}: `{printable(text).replace('`', chr(0x2BC))}`" for name, text in named if text]
    log = [line for row in rows_lines(timeline(events, head, timestamp)) for line in _text(row)]
    return (
        "\n".join(
            [
                *lines,
                "",
                "## Plan",
                "",
                lossless_checklist(plan, escaped=True),
                "## Log",
                "",
                *(f"    {each}" for each in log),
            ]
        ).rstrip()
        + "\n"
    )


def report_path(folder: str, name: FileName) -> str:
    """Return the path of the report of a run, or of one of its hands.

    Raises:
        Refused: a symbolic link of that name leads out of the folder.
    """
    return path_of(folder, f"{name}.md")


def write_report(home: str, name: FileName, text: str) -> str:
    """Write a report to the folder of reports, in place of an earlier one, and return its path.

    Raises:
        OSError: it cannot be written.
        Refused: a symbolic link of that name leads out of the folder.
    """
    folder = os.path.join(home, "reports")
    make_private_folder(folder)
    path = report_path(folder, name)
    replace_file(path, text.encode("utf-8", "replace"))
    return path


def _hand(lease: Lease, hands: int) -> str:
    return f"Hand {lease.hand + 1}" if hands > 1 else "State"


def _text(line: Sequence[object]) -> list[str]:
    return printable_lines("".join(str(getattr(span, "text", span)) for span in line))
