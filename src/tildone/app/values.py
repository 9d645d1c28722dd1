"""The names of settings, and how the text of one becomes a value."""

from __future__ import annotations

import os

from tildone.base import MAX_DIGITS, TYPE_CHECKING, UsageError, replace, shortened
from tildone.stores import StoreAddress, parse_address

if TYPE_CHECKING:
    from typing import Any

TEXTS = ("store", "session", "dialect", "model", "session_dir", "user")
LIMITS = {
    "max_nudges": "nudges",
    "max_same": "repeats",
    "max_minutes": "minutes",
    "max_total": "total",
    "max_hours": "hours",
    "max_requests": "requests",
    "max_idle_requests": "idle_requests",
    "max_cost": "cost",
    "max_tokens": "tokens",
    "max_task_cost": "task_cost",
    "max_task_tokens": "task_tokens",
    "max_task_minutes": "task_minutes",
}
"""The settings that bound how long an agent is continued, and the names of those bounds in `Patience`."""

FLOORS = {
    "max_nudges": 3,
    "max_same": 2,
    "max_minutes": 15,
    "max_total": 20,
    "max_hours": 1,
    "max_requests": 100,
    "max_idle_requests": 20,
    "max_cost": 1,
    "max_tokens": 100_000,
    "max_task_cost": 0.5,
    "max_task_tokens": 50_000,
    "max_task_minutes": 10,
}
"""How far a project's file that nobody has trusted may lower the bounds.

To tighten a bound means to lower it: the agent may spend less. But an agent that has reached a bound is let go, so one
of 0 would switch the gate off. A value below the floor does not apply, nor does one above what the person has set or,
if they have set nothing, the default. Such a file may also choose the `dialect`, and set nothing else: neither `gate`,
`countdown` and `claim_seconds` nor which commands may be run.
"""

AMOUNTS = ("max_cost", "max_task_cost")
BOUNDS = tuple(name for name in LIMITS if name not in AMOUNTS)
NUMBERS = (*BOUNDS, "countdown", "claim_seconds")
THEMES = ("dark", "light", "safe-dark", "safe-light", "terminal")
"""The themes of the full-screen views."""

CHOICES = {"gate": ("on", "off"), "theme": THEMES}
SWITCHES = ("accessible",)
SWITCH_VALUES = {"true": True, "false": False}
KEYS = (*TEXTS, *NUMBERS, *AMOUNTS, *CHOICES, *SWITCHES)
PHASES = ("todo.enabled", "todo.reminders", "todo.reminders.max", "tasks.todoClearDelay")
"""Settings of the phased extension, which checks their values itself. They can be set in files only."""

PRICES = "prices"
PRICE_PARTS = ("input", "output", "cache_read", "cache_write")
"""The table of prices of models, in dollars per million tokens. It can be set in files only."""

EXTENSIONS = "extensions"
"""The list of extensions that `tildone run` loads. It can be set in files only."""

KEY_BINDINGS = "keys"
"""The table of a person's own keys for actions of the screens. It can be set in the person's own file only."""

CHECK_ALLOW = "check_allow"
"""The list of patterns of commands that a person allows as checks.

It can be set in the person's own file only, or by a worker of a fleet, in the environment of its agents."""

FLEET = "fleet"
"""The table of settings of a fleet. It can be set in the person's own file only."""

TELEMETRY = "telemetry"
"""The table of settings of traces. It can be set in the person's own file only."""

_INFINITY = float("inf")


def store_address(text: str, folder: str) -> StoreAddress:
    """Parse the address of a store; a path is made absolute, relative to `folder`.

    Raises UsageError if a scheme is followed by nothing.
    """
    address = parse_address(text)
    if address.path is None:
        return address
    if not address.path:
        raise UsageError(f"{text} needs a path after the colon")
    return replace(address, location=absolute(address.path, folder))


def parsed(key: str, text: str) -> Any:
    if key in CHOICES and text not in CHOICES[key]:
        raise UsageError(f"{flag(key)} must be {choices(key)}, not {text!r}")
    if key in SWITCHES and text not in SWITCH_VALUES:
        raise UsageError(f"{flag(key)} must be true or false, not {text!r}")
    if key in SWITCHES:
        return SWITCH_VALUES[text]
    if key in AMOUNTS:
        try:
            amount = float(text)
        except ValueError:
            amount = _INFINITY
        if not 0 <= amount < _INFINITY:
            raise UsageError(f"{flag(key)} must be a number of dollars, 0 or more, not {shortened(text)!r}")
        return amount
    if key not in NUMBERS:
        return text
    if not text.isdecimal() or len(text) > MAX_DIGITS:
        raise UsageError(f"{flag(key)} must be a whole number, 0 or more, not {shortened(text)!r}")
    return int(text)


def is_amount(setting: object) -> bool:
    return isinstance(setting, int | float) and not isinstance(setting, bool) and 0 <= setting < _INFINITY


def choices(key: str) -> str:
    *others, last = (f'"{choice}"' for choice in CHOICES[key])
    return f"{', '.join(others)} or {last}"


def variable(key: str) -> str:
    return f"TILDONE_{key.upper()}"


def flag(key: str) -> str:
    return key.replace("_", "-")


def absolute(path: str, folder: str) -> str:
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def in_home(path: str) -> str:
    """Return a path in the user's home folder. Raises UsageError if neither $HOME nor the user database names it."""
    home = os.path.expanduser("~")
    if home == "~":
        raise UsageError("your home folder is not known; set $HOME")
    return os.path.join(home, path)
