"""The reply to a probe: `tildone install` and `tildone doctor` ask a configured hook whether it works.

A probe is an event like any other, except that its JSON contains `PROBE`. It passes through everything that an event
passes through, down to the store, which is opened for reading; it registers no agent, and nothing is changed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.metadata import version

from tildone.app.opening import open_store
from tildone.errors import NotFound
from tildone.log.json_scanner import quoted
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.config import Settings

STORE_TIMEOUT_SECONDS = 1.5


def probe_reply(settings: Settings) -> str:
    """Return the JSON that identifies this tildone.

    Raises:
        TildoneError: the store cannot be opened.
    """
    path = settings.store.path
    if path is None or os.path.exists(path):
        # A database without plans is as good as one with plans.
        with suppress(NotFound):
            open_store(settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True).close()
    return f'{{"tildone":{quoted(version("tildone"))}}}\n'
