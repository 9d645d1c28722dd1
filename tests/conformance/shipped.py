"""The extension of a dialect as `tildone run` loads it, for conversations that have lists of their own."""

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import Any

from tildone.app.settings import Settings, load
from tildone.base import replace
from tildone.log.store import Store
from tildone.run.host import Extension, ExtensionAPI, Host
from tildone.run.hosting import RunPlan, plan_extension


def shipped(dialect: str, host: Host, store: Store, phases: Mapping[str, Any] | None = None) -> Extension:
    """Return the extension; `phases` are the settings of the phased dialect."""
    plan = RunPlan(replace(_settings(), phases=tuple((phases or {}).items())))
    return plan_extension(dialect, store, lambda: plan.settings_of(host.transcript), host)


def load_and_find(extension: Extension, api: ExtensionAPI) -> Any:
    """Load an extension, and return the object whose methods handle its events."""
    handlers: list[Any] = []
    register = api.on

    def on(event: Any, handler: Any) -> None:
        handlers.append(handler)
        register(event, handler)

    api.on = on  # type: ignore[method-assign, assignment]  # to see the handlers
    extension(api)
    return next(handler.__self__ for handler in handlers if hasattr(handler, "__self__"))


@cache
def _settings() -> Settings:
    """The settings of somebody who has none, in a project without files."""
    nowhere = os.path.join(tempfile.gettempdir(), "tildone-no-such-folder")
    return load({}, {"HOME": nowhere, "TILDONE_CLAIM_SECONDS": "0"}, nowhere)
