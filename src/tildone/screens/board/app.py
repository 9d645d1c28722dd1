"""The application: which address leads to what, and what every request of the API has to pass."""

import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tildone.app.edits import sentence
from tildone.base import NotFound, Refused, StoreError, TildoneError, UsageError, value
from tildone.plan.text.charts import CONTENT_TYPE
from tildone.plan.text.safe import printable
from tildone.screens.board import reading, results, writing
from tildone.screens.board.access import LIFETIME_SECONDS, Admission, Visitor
from tildone.screens.board.board import Board, Metrics
from tildone.screens.board.data import Data, refusal_data
from tildone.screens.board.http import ApiAnswer, Problem, json_body, json_bytes, json_response, wants_page
from tildone.screens.board.live import LiveStream, UnknownTopic, parse_topics
from tildone.screens.board.pages import PAGES, Assets, page_words, word_fields
from tildone.screens.board.reading import Handler, Visit
from tildone.screens.board.writing import MAX_KEY_CHARS, Repeats

IMMUTABLE = "public, max-age=31536000, immutable"
MAX_STREAMS = 1000

READERS: dict[str, Handler] = {
    "/api/sessions": reading.sessions,
    "/api/needs": reading.needs,
    "/api/stats": reading.overall,
    "/api/fleet": writing.fleet,
    "/api/fleet/runs": writing.runs,
    "/api/fleet/results": results.results,
    "/api/fleet/diff": results.diff,
    "/api/fleet/transcript": results.transcript,
    "/api/s/{key}": reading.session,
    "/api/s/{key}/at/{item}": reading.moment,
    "/api/s/{key}/history": reading.history,
    "/api/s/{key}/density": reading.density,
    "/api/s/{key}/stats": reading.stats,
    "/api/s/{key}/checks": writing.checks,
    "/api/s/{key}/task/{item}": writing.task,
}
EXPORTERS: dict[str, tuple[Handler, str]] = {
    "/s/{key}.md": (reading.markdown, "text/markdown"),
    "/s/{key}.json": (reading.archived, "application/json"),
}
WRITERS: dict[str, Handler] = {
    "/api/s/{key}/ops": writing.ops,
    "/api/s/{key}/undo": writing.undo,
    "/api/s/{key}/redo": writing.redo,
    "/api/s/{key}/restore": writing.restore,
    "/api/s/{key}/directive": writing.steer,
    "/api/s/{key}/course": writing.steer,
    "/api/s/{key}/check": writing.set_check,
    "/api/s/{key}/approve": writing.approve,
    "/api/s/{key}/verify": writing.verify,
    "/api/needs/{item}": writing.answer,
    "/api/fleet/answer": writing.answer_run,
    "/api/fleet/ask": writing.ask_run,
    "/api/fleet/ask-all": writing.ask_all_runs,
    "/api/fleet/drain": writing.drain,
}

Endpoint = Callable[[Request], Awaitable[Response]]


@value
class AppOptions:
    """How the board is served. `base` is the path before all addresses, without a slash at its end."""

    base: str = ""
    read_only: str = ""


class BoardApp:
    """The routes of the board. `abort` closes the connection of a client at once."""

    def __init__(
        self,
        board: Board,
        admission: Admission,
        options: AppOptions,
        abort: Callable[[tuple[str, int] | None], object],
    ) -> None:
        self._board, self._admission, self._options, self._abort = board, admission, options, abort
        self._assets, self._metrics = Assets(), Metrics(board)
        self._repeats = Repeats(time.monotonic)
        sign_in = "proxy" if admission.by_proxy else "link"
        attributes = {
            "base": options.base,
            "readonly": str(bool(options.read_only)).lower(),
            "signin": sign_in,
            "pages": json.dumps([page._asdict() for page in PAGES]),
            "fields": json.dumps(word_fields()),
            "words": json.dumps(page_words()),
        }
        self._page = self._assets.page(options.base, attributes)

    def application(self) -> ASGIApp:
        get: dict[str, Endpoint] = {"/a/{version}/{name:path}": self._asset, "/api/live": self._live}
        get |= {path: self._reader(handler) for path, handler in READERS.items()}
        get |= {path: self._exporter(handler, kind) for path, (handler, kind) in EXPORTERS.items()}
        # Last, because the address of a session also begins those of its exports.
        get |= {page.path: self._frame for page in PAGES}
        get |= {"/in": self._frame, "/out": self._leave, "/metrics": self._figures}
        post: dict[str, Endpoint] = {"/api/in": self._enter}
        post |= {path: self._writer(handler) for path, handler in WRITERS.items()}
        base = self._options.base
        routes = [Route(base + path, endpoint, methods=["GET"]) for path, endpoint in get.items()]
        routes += [Route(base + path, endpoint, methods=["POST"]) for path, endpoint in post.items()]
        routes += [Route(base, self._frame, methods=["GET"])] if base else []
        told: dict[Any, Callable[[Any], tuple[Data, int]]] = {404: _not_found, 405: _not_found, Problem: _problem}
        told |= {TildoneError: _error, Exception: _bug}
        handlers = {error: self._telling(tell) for error, tell in told.items()}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)
        app.router.redirect_slashes = False
        return app

    def _telling(self, tell: Callable[[Any], tuple[Data, int]]) -> Callable[[Request, Exception], Awaitable[Response]]:
        """Return what answers a request that has failed: `tell` says of an error what is wrong, and its status."""

        async def answer(request: Request, error: Exception) -> Response:
            body, status = tell(error)
            if wants_page(request.headers, request.url.path, self._options.base):
                page = self._assets.problem(self._options.base, str(body["error"]), str(body["hint"]))
                return HTMLResponse(page, status)
            return json_response(body, status)

        return answer

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self._board.close)

    async def _frame(self, _request: Request) -> Response:
        # The boot id tells a second `tildone board` that this is the one it looks for.
        return HTMLResponse(self._page, headers={"X-Tildone-Boot": self._board.hub.boot})

    async def _asset(self, request: Request) -> Response:
        found = self._assets.get(request.path_params["version"], request.path_params["name"])
        if found is None:
            raise Problem(404, "There is no such file.")
        return Response(found.content, headers={"Cache-Control": IMMUTABLE}, media_type=found.media_type)

    async def _enter(self, request: Request) -> Response:
        body = await json_body(request)
        token = body.get("token", "")
        if not isinstance(token, str):
            raise Problem(400, "'token' has to be a text.")
        login, name = await run_in_threadpool(self._admission.enter, request, token)
        response = json_response({"key": login.key, "user": name or None})
        response.set_cookie(
            self._admission.cookie,
            login.cookie,
            max_age=LIFETIME_SECONDS,
            path=f"{self._options.base}/",
            httponly=True,
            samesite="strict",
            secure=self._admission.is_secure(request),
        )
        return response

    async def _leave(self, _request: Request) -> Response:
        response = HTMLResponse(self._page)
        response.delete_cookie(self._admission.cookie, path=f"{self._options.base}/", httponly=True, samesite="strict")
        return response

    async def _live(self, request: Request) -> Response:
        await run_in_threadpool(self._admission.visitor, request)
        try:
            topics = parse_topics(request.query_params.get("topics", ""))
        except UnknownTopic as error:
            raise Problem(400, f"There is no topic {error}.") from error
        if self._board.hub.streams >= MAX_STREAMS:
            raise Problem(503, "Too many pages are open.", "Close some of them.")
        # What changed while nobody looked is told now, before the stream begins where the client left.
        await run_in_threadpool(self._board.refresh)
        client = request.client
        last = request.headers.get("last-event-id", "")
        address = (client.host, client.port) if client else None
        return LiveStream(self._board.hub, topics, last, lambda: self._abort(address))

    async def _figures(self, request: Request) -> Response:
        await run_in_threadpool(self._admission.check_scraper, request)
        text = await run_in_threadpool(self._metrics.text)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    def _reader(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            visitor = await run_in_threadpool(self._admission.visitor, request)
            position = self._board.hub.position
            known = request.headers.get("if-none-match", "")
            visit = self._visit(request, visitor, {}, known)
            answer = await run_in_threadpool(self._fresh, handler, visit)
            headers = {"X-Tildone-Seq": position, "X-Tildone-Version": self._assets.version} | dict(answer.headers)
            if answer.body is None:
                return Response(None, 304, headers)
            encoded = await run_in_threadpool(json_bytes, answer.body)
            return Response(encoded, headers=headers, media_type="application/json")

        return endpoint

    def _exporter(self, handler: Handler, kind: str) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            visitor = await run_in_threadpool(self._admission.visitor, request)
            answer = await run_in_threadpool(self._fresh, handler, self._visit(request, visitor, {}))
            return Response(answer.body, headers={"Content-Disposition": "attachment"}, media_type=kind)

        return endpoint

    def _writer(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            visitor = await run_in_threadpool(self._admission.visitor, request)
            if self._options.read_only:
                raise Problem(403, "This board is read-only.", self._options.read_only)
            body = await json_body(request)
            visit = self._visit(request, visitor, body)
            headers = {"X-Tildone-Seq": self._board.hub.position}

            async def act() -> Response:
                try:
                    answer = await run_in_threadpool(self._fresh, handler, visit)
                except Problem as problem:
                    return json_response(problem.body, problem.status)
                except Refused as refused:
                    return json_response(*refusal_data(refused))
                await run_in_threadpool(self._board.refresh)
                return json_response(answer.body, headers=headers)

            repeated = request.headers.get("idempotency-key", "")
            if not repeated:
                return await act()
            if len(repeated) > MAX_KEY_CHARS:
                raise Problem(400, "The Idempotency-Key is too long.")
            return await self._repeats.once(
                (visitor.login, request.url.path, repeated), json_bytes([body, visit.head]), act
            )

        return endpoint

    def _fresh(self, handler: Handler, visit: Visit) -> ApiAnswer:
        self._board.refresh()
        return handler(visit)

    def _visit(self, request: Request, visitor: Visitor, body: dict[str, object], known: str = "") -> Visit:
        params, match = request.path_params, request.headers.get("if-match")
        head = None if match is None else match.strip().removeprefix("W/").strip('"')
        # The tag of a session begins with its head.
        head = None if head is None else head.partition(".")[0]
        head = "" if head == "empty" else head
        return Visit(
            self._board, visitor, request.query_params, body, params.get("key", ""), params.get("item", ""), head, known
        )


def _problem(problem: Problem) -> tuple[Data, int]:
    return problem.body, problem.status


def _not_found(_error: Exception) -> tuple[Data, int]:
    return {"error": "There is nothing at this address.", "hint": "Is it complete? The plans are all in one list:"}, 404


def _bug(error: Exception) -> tuple[Data, int]:
    """The text of the error may contain anything: it is for the person at the terminal."""
    sys.stderr.write(f"tildone board: {printable(repr(error))}\n")
    return {"error": f"tildone itself is at fault: {type(error).__name__}.", "hint": ""}, 500


def _error(error: TildoneError) -> tuple[Data, int]:
    text = f"{sentence(error)}."
    match error:
        case Refused():
            return refusal_data(error)
        case StoreError():
            return {"error": "The store cannot be used now.", "hint": text}, 503
        case _:
            status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, UsageError) else 500
            return {"error": text, "hint": ""}, status
