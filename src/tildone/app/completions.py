"""The log of completed plans in a project."""

from __future__ import annotations

import os
import time

from tildone.agents.completion_log import CompletionLog
from tildone.agents.identity import digest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.dialects.base import Completions
    from tildone.log.store import Store


def completions_of(settings: Settings, store: Store) -> Completions:
    """Return the log of the project that the settings name: one file for a session that is stored."""
    name = digest(f"{settings.store} {settings.session}")
    record = os.path.join(os.path.dirname(settings.agents_dir), "completions", name) if settings.agents_dir else ""
    return completions_in(settings.project, record if store.durable else "")


def completions_in(project: str, record: str = "") -> Completions:
    """Return the log in a project's folder. All that have the same `record` append to one file."""
    return CompletionLog(project, lambda: time.strftime("%Y%m%d-%H%M%S"), record)
