"""The options of a run, stored in its conversation, so that `tildone run --continue` needs none of them.

They are a custom entry of the conversation file, which only its owner can read. An option on the command line replaces
the stored one; values of --allow, --allow-write and --pass-env are added to the stored ones. Permissions are stored
only if they were given on the command line: a permission that a person gave during the run ends with it. Extensions are
not stored: a conversation file must not name code to execute.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from tildone.app.settings import Settings
from tildone.cli.table import ParsedArgs
from tildone.run.events import CustomEntry
from tildone.run.extension import BeforeAgentStart
from tildone.run.extensions.skeleton import RUN_ENTRY
from tildone.run.host import Host
from tildone.run.hosting import RunPlan, stored_options
from tildone.run.messages import JsonObject
from tildone.run.tools.patterns import EVERYTHING, describe_pattern, is_pattern

TEXTS = ("store", "model", "dialect", "max-nudges")
SWITCHES = ("outside", "no-builtin-tools", "no-extensions")
PATTERNS = ("allow", "allow-write", "pass-env")


def options_of_run(given: ParsedArgs, settings: Settings) -> JsonObject:
    """Return the options to store: the store, the model, and the permissions. `RunPlan` adds the plan."""
    store = str(settings.store)
    effective = {"model": settings.model, "dialect": settings.dialect}
    options: JsonObject = {name: text for name, text in effective.items() if text}
    if store == settings.store.redacted:
        # An address with a password is not written to a file; it comes from the settings again.
        options["store"] = store
    if given.has("max-nudges"):
        options["max-nudges"] = given.options["max-nudges"]
    options |= {name: True for name in SWITCHES if given.has(name)}
    return options | {name: list(dict.fromkeys(given.values(name))) for name in PATTERNS if given.has(name)}


def with_stored_options(given: ParsedArgs, stored: JsonObject) -> ParsedArgs:
    texts = [(name, text) for name in TEXTS if isinstance(text := stored.get(name), str) and not given.has(name)]
    switches = [(name, "") for name in SWITCHES if stored.get(name) is True and not given.has(name)]
    patterns = [(name, pattern) for name in PATTERNS for pattern in stored_patterns(stored, name)]
    added = (*patterns, *texts, *switches)
    return ParsedArgs(given.path, given.positional, {**dict(added), **given.options}, (*added, *given.occurrences))


def stored_patterns(stored: JsonObject, option: str) -> list[str]:
    """Return the stored values of --allow, --allow-write or --pass-env."""
    patterns = stored.get(option)
    found = [pattern for pattern in patterns if isinstance(pattern, str)] if isinstance(patterns, list) else []
    return [pattern for pattern in found if option != "allow" or is_pattern(pattern)]


def describe_permissions(stored: JsonObject, given: ParsedArgs, *, terminal: bool) -> list[str]:
    """Return a line for each stored permission that the command line does not repeat, and for each pattern it gives.

    A pattern for commands is described by what it covers. That `*` covers everything is said only at a terminal: a
    script that gives it was written by someone who knows.
    """
    pairs = [(name, pattern) for name in PATTERNS for pattern in stored_patterns(stored, name)]
    added = [(name, pattern) for name, pattern in pairs if pattern not in given.values(name)]
    new = [pattern for pattern in dict.fromkeys(given.values("allow")) if terminal or pattern != EVERYTHING]
    return [
        *(f"tildone: allowed as before: {_described(name, pattern)}" for name, pattern in added),
        *(f"tildone: allowed: {_described('allow', pattern)}" for pattern in new),
    ]


def _described(name: str, pattern: str) -> str:
    option = f"--{name} {shlex.quote(pattern)}"
    return f"{option}: {describe_pattern(pattern)}" if name == "allow" else option


def recorder(host: Host, options: JsonObject, plan: RunPlan) -> Callable[[JsonObject], None]:
    """Return what stores the options in the conversation of the host, with the changed ones that it is given.

    They are stored before each prompt as well, unless they are there already.
    """

    def record(changed: JsonObject) -> None:
        options.update(changed)
        current = options | plan.options_of(host.transcript)
        if stored_options(host.transcript) != current:
            host.transcript.append(CustomEntry(RUN_ENTRY, current))

    host.load([(RUN_ENTRY, lambda api: api.on(BeforeAgentStart, lambda *_: record({})))])
    return record
