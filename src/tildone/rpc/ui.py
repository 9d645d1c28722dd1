"""The UI of the RPC mode: requests are sent to the client, which answers them by their id."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tildone.host.permission_request import PermissionReply, PermissionRequest, answer_labels

Record = dict[str, Any]


class RpcUI:
    """Sends extensions' output and questions as `extension_ui_request` records."""

    has_ui = True

    def __init__(self, send: Callable[[Record], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._open: dict[str, asyncio.Future[Record]] = {}

    def set_status(self, key: str, text: str | None) -> None:
        self._request("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        widget = list(lines) if lines is not None else None
        self._request("setWidget", widgetKey=key, widgetLines=widget, widgetPlacement=placement)

    def notify(self, message: str, kind: str = "info") -> None:
        self._request("notify", message=message, notifyType=kind)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        answer = await self._ask(timeout, "select", title=title, options=list(options))
        return answer.get("value")

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        answer = await self._ask(timeout, "confirm", title=title, message=message)
        return bool(answer.get("confirmed"))

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return (await self._ask(None, "input", title=title, placeholder=placeholder)).get("value")

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return (await self._ask(None, "editor", title=title, prefill=prefill)).get("value")

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask whether a tool may do something, as a choice between labels that say what each answer covers."""
        labels = answer_labels(request)
        lines = [request.question, *request.details, *filter(None, [request.caution])]
        chosen = await self.select("\n".join(lines), list(labels))
        answer = labels.get(chosen or "")
        return PermissionReply(answer) if answer is not None else None

    def accept_answer(self, record: Record) -> None:
        """Resolve the question that an answer belongs to; an answer without a question is ignored."""
        waiting = self._open.pop(str(record.get("id")), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(record)

    def cancel_requests(self) -> None:
        """Cancel every open question: the client is gone."""
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_result({"cancelled": True})
        self._open.clear()

    async def _ask(self, seconds: float | None, method: str, **fields: Any) -> Record:
        milliseconds = None if seconds is None else int(seconds * 1000)
        request_id = self._request(method, **fields, timeout=milliseconds)
        waiting: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._open[request_id] = waiting
        try:
            return await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            return {"cancelled": True}
        finally:
            self._open.pop(request_id, None)

    def _request(self, method: str, **fields: Any) -> str:
        request_id = f"ui-{next(self._ids)}"
        present = {key: item for key, item in fields.items() if item is not None}
        self._send({"type": "extension_ui_request", "id": request_id, "method": method, **present})
        return request_id
