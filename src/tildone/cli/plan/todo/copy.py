"""`tildone todo copy`: copy the plan to the clipboard."""

from __future__ import annotations

from base64 import b64encode

from tildone.cli.opening import open_for_reading
from tildone.cli.output.screen import on_terminal, put, put_notice, put_raw
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.hints import BEGIN
from tildone.commands.answer import CopyText
from tildone.commands.requests import after_request
from tildone.errors import Refused
from tildone.extensions.clipboard import copy_to_clipboard
from tildone.formats.markdown.writer import lossless_checklist


def run(args: ParsedArgs) -> int:
    """Copy the plan as Markdown."""
    session = open_for_reading(args)
    if not session.plan.tasks:
        raise Refused(f"there is no plan to copy; {BEGIN}")
    request = CopyText(lossless_checklist(session.plan))
    if copy_to_clipboard(request.text):
        return apply_answer(args, session, after_request(request))
    if on_terminal():
        # OSC 52: the terminal copies it, over SSH as well, and does not confirm it.
        put(f"\x1b]52;c;{b64encode(request.text.encode()).decode()}\x07Sent the plan to your terminal's clipboard")
        return 0
    put_raw(lossless_checklist(session.plan, escaped=True).removesuffix("\n"))
    put_notice("tildone: no clipboard is available; the plan was printed instead")
    return 0
