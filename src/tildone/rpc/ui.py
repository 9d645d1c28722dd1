"""Whoever watches, at the other end of a pipe: requests go out as records, answers come back by their id."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]


class RpcUI:
    """Extensions' wishes as `extension_ui_request` records."""

    has_ui = True

    def __init__(self, send: Callable[[Record], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Record]] = {}

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key; None takes it away."""
        self._request("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Show lines; None takes them away."""
        shown = list(lines) if lines is not None else None
        self._request("setWidget", widgetKey=key, widgetLines=shown, widgetPlacement=placement)

    def notify(self, message: str, kind: str = "info") -> None:
        """Tell the person something, once."""
        self._request("notify", message=message, notifyType=kind)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        """Let the person choose."""
        answer = await self._ask(timeout, "select", title=title, options=list(options))
        return answer.get("value")

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        """Ask for a yes."""
        answer = await self._ask(timeout, "confirm", title=title, message=message)
        return bool(answer.get("confirmed"))

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text."""
        return (await self._ask(None, "input", title=title, placeholder=placeholder)).get("value")

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines."""
        return (await self._ask(None, "editor", title=title, prefill=prefill)).get("value")

    def answered(self, record: Record) -> None:
        """Take in an answer; one that nobody asked for is ignored."""
        waiting = self._asked.pop(str(record.get("id")), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(record)

    def hang_up(self) -> None:
        """Nobody will answer any more: every open question is answered with nothing."""
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result({"cancelled": True})
        self._asked.clear()

    async def _ask(self, patience: float | None, method: str, **fields: Any) -> Record:
        limit = None if patience is None else int(patience * 1000)
        asked = self._request(method, **fields, timeout=limit)
        waiting: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._asked[asked] = waiting
        try:
            return await asyncio.wait_for(waiting, patience)
        except TimeoutError:
            self._asked.pop(asked, None)
            return {"cancelled": True}

    def _request(self, method: str, **fields: Any) -> str:
        name = f"ui-{next(self._ids)}"
        told = {key: item for key, item in fields.items() if item is not None}
        self._send({"type": "extension_ui_request", "id": name, "method": method, **told})
        return name
