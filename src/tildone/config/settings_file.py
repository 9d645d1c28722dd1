"""Reading a settings file. Few users have one, so the module is imported only where there is one."""

from __future__ import annotations

import os
import tomllib

from tildone.config.extension_forms import absolute_form
from tildone.config.fleet import fleet_fault, resolved_fleet
from tildone.config.telemetry import telemetry_fault
from tildone.config.values import (
    AMOUNTS,
    CHECK_ALLOW,
    CHOICES,
    EXTENSIONS,
    FLEET,
    KEY_BINDINGS,
    KEYS,
    NUMBERS,
    PHASES,
    PRICE_PARTS,
    PRICES,
    SWITCHES,
    TELEMETRY,
    TEXTS,
    absolute,
    choices,
    is_amount,
    store_address,
)
from tildone.errors import UsageError, nearest
from tildone.kit.keys import ALL_BINDINGS, EXPAND, clash, is_key, key_names
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def read_file(path: str, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in a file, and add what is wrong with it or with the others to `problems`."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return {}
    return parse(path, content, problems)


def parse(path: str, content: bytes, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in the content of the file at `path`; `problems` as in `read_file`."""
    try:
        text = content.decode("utf-8-sig")
        settings = tomllib.loads(text)
    except UnicodeDecodeError:
        problems.append(f"{path}: the file is not UTF-8 text")
        return {}
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return {}
    except RecursionError:
        problems.append(f"{path}: the values are nested too deeply")
        return {}
    faults = {key: _fault(key, setting) or _address_fault(key, setting) for key, setting in settings.items()}
    problems += [f"{path}{_line(text, key)}: {fault}" for key, fault in faults.items() if fault]
    valid = {key: setting for key, setting in settings.items() if not faults[key]}
    return valid | _resolved(valid, os.path.dirname(path))


def _resolved(settings: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return the settings that name paths, made absolute relative to the folder of the settings file."""
    paths: dict[str, Any] = {}
    if "store" in settings:
        paths["store"] = str(store_address(settings["store"], folder))
    if "session_dir" in settings:
        paths["session_dir"] = absolute(settings["session_dir"], folder)
    if FLEET in settings:
        paths[FLEET] = resolved_fleet(settings[FLEET], folder)
    if EXTENSIONS in settings:
        paths[EXTENSIONS] = [absolute_form(form, folder) for form in settings[EXTENSIONS]]
    return paths


def _fault(key: str, setting: object) -> str:
    """Return what is wrong with a setting in a file; empty if nothing is."""
    if key == PRICES:
        return _price_fault(setting)
    if key == FLEET:
        return fleet_fault(setting)
    if key == TELEMETRY:
        return telemetry_fault(setting)
    if key == KEY_BINDINGS:
        return _binding_fault(setting)
    if key == EXTENSIONS:
        listed = isinstance(setting, list) and all(isinstance(form, str) and form for form in setting)
        return "" if listed else f'{key} must be a list of files and modules: ["tools.py", "package.module"]'
    if key == CHECK_ALLOW:
        listed = isinstance(setting, list) and all(
            isinstance(pattern, str) and pattern.strip("* ") for pattern in setting
        )
        return "" if listed else f'{key} must be a list of patterns of commands: ["pytest *", "npm test"]'
    if key not in KEYS and key not in PHASES:
        known = f"known are {', '.join(KEYS)}"
        return f"there is no setting {key!r}; {nearest(key, KEYS, known)}"
    if key in TEXTS and (not isinstance(setting, str) or not setting):
        return f"{key} must be a non-empty string in quotes"
    if key in NUMBERS and (not isinstance(setting, int) or isinstance(setting, bool) or setting < 0):
        return f"{key} must be a whole number, 0 or more"
    if key in AMOUNTS and not is_amount(setting):
        return f"{key} must be a number of dollars, 0 or more"
    if key in SWITCHES and not isinstance(setting, bool):
        return f"{key} must be true or false"
    if key in CHOICES and setting not in CHOICES[key]:
        return f"{key} must be {choices(key)}"
    return ""


def _address_fault(key: str, setting: object) -> str:
    if key == "store":
        try:
            store_address(str(setting), os.curdir)
        except UsageError as error:
            return str(error)
    return ""


def _price_fault(setting: object) -> str:
    table = setting if isinstance(setting, dict) else {"": setting}
    for model, price in table.items():
        parts = price if isinstance(price, dict) else {}
        if not {"input", "output"} <= set(parts) <= set(PRICE_PARTS) or not all(map(is_amount, parts.values())):
            return (
                f'in [prices], write "{model or "MODEL"}" = {{ input = 3.0, output = 15.0 }}, in dollars per million '
                f"tokens; {' and '.join(PRICE_PARTS[2:])} are optional"
            )
    return ""


def _binding_fault(setting: object) -> str:
    table: dict[str, Any] = setting if isinstance(setting, dict) else {"": setting}
    for action, keys in table.items():
        if not isinstance(keys, str):
            return f'keys must name actions, in quotes, and their keys: keys."{EXPAND}" = "f6"'
        if action not in ALL_BINDINGS:
            return f"there is no action {action!r} in keys; {nearest(action, tuple(ALL_BINDINGS))}"
        wrong = next((name for name in key_names(keys) if not is_key(name)), None)
        if wrong is not None:
            return f'keys."{action}": {wrong!r} is not the name of a key, such as f6, ctrl+t, pagedown or K'
    if shared := clash(table):
        other, action, key = shared
        return f'keys."{action}": {key} is the key of {other}, too; give one of them another'
    return ""


def _line(text: str, key: str) -> str:
    """Return where a key is set, as a part of a message; empty if its line is not found."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip(" \t\"'") in (key, f"[{key}]"):
            return f", line {number}"
    return ""
