"""The UI and the model of a host that a worker of a fleet has started: nobody is there, but the store is.

Questions are in the store, where `tildone fleet approve` and `answer` find them (`SharedQuestions`). What is shown is
written to the output of the agent.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tildone.app.opening import run_leases
from tildone.errors import StoreError, TildoneError
from tildone.host.limited_model import LimitedModel
from tildone.host.model import Model
from tildone.host.permission_request import PermissionReply, PermissionRequest
from tildone.host.shell_model import ShellModel
from tildone.host.ui import UI, NoUI
from tildone.log.fleet.lease import LEASE_VARIABLE
from tildone.log.fleet.names import provider_family
from tildone.log.store import Store
from tildone.views.sanitize import printable

T = TypeVar("T")


class UnattendedUI(NoUI):
    """Never answers, and prints what is shown."""

    has_ui = True

    def set_status(self, key: str, text: str | None) -> None:
        if text:
            _print(f"{key}: {text}")

    def notify(self, message: str, kind: str = "info") -> None:
        _print(f"{kind}: {message}")

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ARG002, ASYNC109  the protocol's
        return await _unanswered(None, timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ARG002, ASYNC109  the protocol's
        return await _unanswered(False, timeout)  # noqa: FBT003  the answer of nobody

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002  the protocol's
        return await _unanswered(None)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:  # noqa: ARG002  the protocol's
        return await _unanswered(None)


def unattended_ui(environ: Mapping[str, str]) -> UI | None:
    """Return the UI of a host that works for a run of a fleet; None if it does not."""
    return UnattendedUI() if environ.get(LEASE_VARIABLE) else None


def limited_model(model: Model, store: Store, environ: Mapping[str, str], ui: UI | None) -> Model:
    """Return a model that keeps to the limits of the fleet, if the host works for a run of one."""
    if not environ.get(LEASE_VARIABLE) or isinstance(model, ShellModel):
        return model
    try:
        leases = run_leases(store)
    except TildoneError:
        # A store without leases has no limits.
        return model
    shown, provider = ui or NoUI(), provider_family(model.provider)

    def take() -> int:
        try:
            return leases.request(provider)
        except StoreError:
            # The limit is for the provider's sake. A store that fails must not stop the agent.
            return 0

    return LimitedModel(model, take, lambda text: shown.set_status("limit", text))


async def _unanswered(declined: T, seconds: float | None = None) -> T:
    """Wait until somebody answers in the store, which cancels the question, or for so many seconds."""
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    await asyncio.wait({waiting}, timeout=seconds)
    return declined


def _print(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()
