"""The list of tasks beside the conversation, with the keys of `tildone watch` that make sense here."""

from __future__ import annotations

from tildone.tui.keys import KEYS
from tildone.tui.row_list import RowList
from tildone.tui.screen_keys import Pane, key_bindings
from tildone.value import replace

_LEFT_OUT = frozenset({"app.quit", "app.other", "app.escape", "app.to_list", "app.help", "app.open", "app.palette"})
"""Actions of the watch screen that mean something else here."""

PLAN_KEYS = tuple(
    replace(key, pane=Pane.PLAN) for key in KEYS if key.pane in (Pane.PLAN, Pane.ANY) and key.action not in _LEFT_OUT
)


class RunPlanList(RowList):
    """The tasks of the plan."""

    BINDINGS = key_bindings(PLAN_KEYS)
