"""The check of the settings: which are in force, where they come from, and which disable something."""

from __future__ import annotations

import os

from tildone.config import origins
from tildone.config.values import CHECK_ALLOW, KEYS
from tildone.core.shell.reach import told
from tildone.dialects import DIALECTS
from tildone.errors import nearest
from tildone.log.address import StoreAddress
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.maintenance.checks.context import CheckContext

BUDGETS = ("max_cost", "max_tokens", "max_task_cost", "max_task_tokens", "max_task_minutes")
ZERO_DISABLES = ("max_nudges", "max_same", "max_minutes", "max_total", "max_hours", *BUDGETS)
"""The bounds that, at 0, are reached before an agent is continued for the first time."""


def settings_in_force(context: CheckContext) -> Iterator[Finding]:
    """Each setting and its origin; before them, what is wrong with others."""
    for problem in context.problems:
        yield Finding(Severity.ERROR, f"{problem}; until then, hooks do nothing", "correct it")
    if context.settings.untrusted:
        yield Finding(Severity.WARNING, context.settings.trust_notice.partition(";")[0], "tildone trust")
    dialect = context.settings.dialect
    if dialect and dialect not in DIALECTS:
        hint = nearest(dialect, tuple(DIALECTS))
        yield Finding(Severity.ERROR, f"there is no dialect {dialect!r}; {hint}", "correct the setting")
    for pattern in context.settings.check_allow:
        if warning := told(CHECK_ALLOW, pattern):
            yield Finding(Severity.WARNING, warning, "name the arguments, or approve checks one by one")
    origin = origins(context.flags, os.environ, context.folder)
    for key in KEYS:
        setting = getattr(context.settings, key)
        if setting not in (None, ""):
            where = f"from {origin[key]}" if key in origin else "default"
            yield _finding(key, setting, where)


def _finding(key: str, setting: object, where: str) -> Finding:
    text = f"{key}: {_setting_text(setting)} ({where})"
    if key == "gate" and not setting:
        return Finding(Severity.WARNING, f"{text}; agents that stop are never continued", _unset(key, where))
    if key in ZERO_DISABLES and setting == 0:
        return Finding(Severity.WARNING, f"{text}; agents that stop are never continued", _unset(key, where))
    return Finding(Severity.OK, text)


def _unset(key: str, where: str) -> str:
    origin = where.removeprefix("from ")
    return f"unset {origin.removeprefix('$')}" if origin.startswith("$") else f"remove {key} from {origin}"


def _setting_text(setting: object) -> str:
    if isinstance(setting, StoreAddress):
        return setting.redacted
    return ("on" if setting else "off") if isinstance(setting, bool) else str(setting)
