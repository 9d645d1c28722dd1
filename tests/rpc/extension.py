"""An extension for clients: tools that end as they like, and commands that ask and report."""

import asyncio
import os
import threading
import time
from typing import Any

import tildone.run.rpc
from tildone.run.events import AgentEnd
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.definition import ToolDefinition, ToolResult, text_result

AFTER_COUNTDOWN_MS = int(os.environ.get("TILDONE_COUNTDOWN", "3")) * 1000 + 1
FOREVER = 3600.0

if "END_SOON" in os.environ:
    tildone.run.rpc.MAX_END_SECONDS = 0.1


async def obedient(signal: Any) -> None:
    aborted = asyncio.Event()
    signal.on_abort(aborted.set)
    await aborted.wait()
    signal.raise_if_aborted()


async def deaf(_signal: Any) -> None:
    await asyncio.sleep(FOREVER)


async def stubborn(_signal: Any) -> None:
    while True:
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            continue


async def threaded(_signal: Any) -> None:
    """Work in a thread that cannot be stopped."""
    await asyncio.to_thread(time.sleep, FOREVER)


async def own_thread(_signal: Any) -> None:
    """Work in a thread that the interpreter would wait for."""
    threading.Thread(target=time.sleep, args=(FOREVER,)).start()
    await asyncio.sleep(FOREVER)


async def blocking(_signal: Any) -> None:
    time.sleep(FOREVER)  # noqa: ASYNC251  this is what it is about


TOOLS = (obedient, deaf, stubborn, threaded, own_thread, blocking)


def tool(work: Any) -> ToolDefinition:
    async def execute(_call: str, _params: Any, signal: Any, on_update: Any, _ctx: Any) -> ToolResult:
        on_update(text_result("at work"))
        open("at_work", "w", encoding="utf-8").close()  # noqa: ASYNC230  nothing else is to happen meanwhile
        await work(signal)
        return text_result("done")

    name = work.__name__
    return ToolDefinition(name=name, label=name, description=name, parameters={"type": "object"}, execute=execute)


async def ask_person(_call: str, _params: Any, _signal: Any, _on_update: Any, ctx: ExtensionContext) -> ToolResult:
    return text_result(f"answered {await ctx.ui.confirm('Go on?', '')}")


def extension(api: ExtensionAPI) -> None:
    asks = ToolDefinition("ask_person", "ask", "ask", parameters={"type": "object"}, execute=ask_person)
    api.register_tool(asks)
    for work in TOOLS:
        api.register_tool(tool(work))

    async def ask(kind: str, ctx: ExtensionContext) -> None:
        match kind:
            case "select":
                answer: Any = await ctx.ui.select("Which?", ["a", "b"])
            case "confirm":
                answer = await ctx.ui.confirm("Sure?", "Really?", 600)
            case "input":
                answer = await ctx.ui.input("Name?", "name")
            case _:
                answer = await ctx.ui.editor("Text?", "old")
        ctx.ui.notify(f"answered {answer!r}")

    async def fail(_typed: str, _ctx: ExtensionContext) -> None:
        raise ValueError("as asked")

    async def report(_typed: str, _ctx: ExtensionContext) -> None:
        api.append_entry("noted", {"n": 1})
        api.publish("reported", n=1)

    async def hang(_typed: str, _ctx: ExtensionContext) -> None:
        await stubborn(None)

    for run in (ask, fail, report, hang):
        api.register_command(run.__name__, run.__name__, run)

    def mark(_event: AgentEnd, ctx: ExtensionContext) -> None:
        # The dialect's timers were set before, so a countdown that began with this end is over first.
        ctx.after(AFTER_COUNTDOWN_MS, lambda: api.publish("time_is_up"))

    api.on(AgentEnd, mark)
