"""`tildone todo copy`: the plan into the clipboard, by whatever way there is from here."""

import os
import sys
from base64 import b64encode
from shutil import which
from subprocess import DEVNULL, SubprocessError, run

from tildone.cli.args import Typed
from tildone.cli.desk import ME, carry_out
from tildone.cli.place import reading
from tildone.cli.screen import on_terminal, put, put_raw
from tildone.dialects.command.answer import CopyText
from tildone.dialects.command.verbs import copy as copied
from tildone.dialects.command.verbs import resumed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 5

WAYS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
)
"""Programs that take the clipboard's text, each with the variable that says its display is there."""


def copy(typed: Typed) -> int:
    """Copy the plan as Markdown."""
    session = reading(typed)
    answer = copied(session.plan, me=ME)
    request = answer.request
    if not isinstance(request, CopyText):
        return carry_out(session, answer)
    if _by_program(request.text):
        return carry_out(session, resumed(request))
    if on_terminal():
        # The terminal itself takes it (OSC 52), over SSH as well. It does not say whether it did.
        put(f"\x1b]52;c;{b64encode(request.text.encode()).decode()}\x07Sent the plan to your terminal's clipboard")
        return 0
    put_raw(request.text.removesuffix("\n"))
    print("tildone: no clipboard can be reached from here; the plan is printed instead", file=sys.stderr)
    return 0


def programs(platform: str, environ: "Mapping[str, str]") -> list[tuple[str, ...]]:
    """The programs worth trying, best first."""
    if platform == "darwin":
        return [("pbcopy",)]
    if platform == "win32":
        return [("clip",)]
    return [program for variable, program in WAYS if environ.get(variable)]


def _by_program(text: str) -> bool:
    encoding = "utf-16" if sys.platform == "win32" else "utf-8"
    for name, *options in programs(sys.platform, os.environ):
        found = which(name)
        if found is None:
            continue
        try:
            # Its output goes nowhere: what holds the clipboard lives on, and would hold our pipes as well.
            run(  # noqa: S603  one of the programs above
                [found, *options],
                input=text.encode(encoding),
                stdout=DEVNULL,
                stderr=DEVNULL,
                timeout=PATIENCE,
                check=True,
            )
        except (OSError, SubprocessError):
            continue
        return True
    return False
