"""The table `[telemetry]` of settings: where traces of the person's runs are sent, and how much they tell.

It counts only in the person's own file: a repository must not say where anything is sent.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEYS = ("endpoint", "content")
SCHEMES = ("http://", "https://")


@value
class TelemetryConfig:
    """What a person has set. Without `endpoint`, the environment decides whether traces are sent.

    With `content`, they contain the texts of tasks, prompts and answers.
    """

    endpoint: str = ""
    content: bool = False


def telemetry_config(table: Mapping[str, Any]) -> TelemetryConfig:
    """Return the settings of a valid table."""
    return TelemetryConfig(**table)


def telemetry_fault(setting: object) -> str:
    """Return what is wrong with a table `[telemetry]`; empty if nothing is."""
    if not isinstance(setting, dict):
        return "telemetry must be a table: [telemetry]"
    for key, given in setting.items():
        if fault := _fault(key, given):
            return f"in [telemetry], {fault}"
    return ""


def _fault(key: str, given: object) -> str:
    match key:
        case "content":
            return "" if isinstance(given, bool) else "content must be true or false"
        case "endpoint":
            is_url = isinstance(given, str) and given.startswith(SCHEMES) and not _has_password(given)
            return "" if is_url else 'endpoint must be an address without a password: "http://localhost:4318"'
        case _:
            return f"there is no setting {key!r}; known are {', '.join(KEYS)}"


def _has_password(address: str) -> bool:
    return "@" in address.partition("://")[2].partition("/")[0]
