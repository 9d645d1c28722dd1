"""The tools in a host, called by a model that follows a script."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from tests.host.tools.tool_bench import ToolBench, sleeping_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.run.events import AnswerDone
from tildone.run.host import Host
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import StopReason, TextBlock, ToolCallBlock, ToolResultMessage, text_of
from tildone.run.model import ChatRequest, assistant_message
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

Calls = list[tuple[str, dict[str, Any]]]


class Scripted:
    """A model that makes these calls, one list per turn, and then stops."""

    api, provider, id = "script", "script", "script"

    def __init__(self, *turns: Calls) -> None:
        self.turns = list(turns)
        self.requests: list[ChatRequest] = []

    async def stream(
        self, request: ChatRequest, _signal: AbortSignal | None = None
    ) -> AsyncGenerator[AnswerDone, None]:
        """The next turn."""
        self.requests.append(request)
        calls = self.turns.pop(0) if self.turns else []
        made = [ToolCallBlock(f"call-{number}", *call) for number, call in enumerate(calls)]
        reason = StopReason.TOOL_USE if calls else StopReason.STOP
        yield AnswerDone(assistant_message(made or [TextBlock("Done")], self, reason, 0))

    async def close(self) -> None:
        """Nothing is open."""


def host_in(folder: Path, policy: PermissionPolicy, *turns: Calls) -> Host:
    ids = iter(range(1000))
    transcript = Transcript(header("s", str(folder), 0), now=lambda: 0, new_id=lambda: f"e{next(ids)}")
    tools = builtin_tools(policy)
    return Host(model=Scripted(*turns), transcript=transcript, cwd=str(folder), now=lambda: 0, tools=tools)


def results(host: Host) -> list[tuple[bool | None, str]]:
    made = [message for message in host.transcript.messages() if isinstance(message, ToolResultMessage)]
    return [(message.is_error, text_of(message)) for message in made]


async def test_an_agent_can_work(folder: Path) -> None:
    """Calls of one turn run in order; errors are reported without a traceback."""
    outside = (folder.parent / "outside.txt").resolve()
    how = "Start with --allow 'rm -rf src' to allow it, or with --allow '*' for every command."
    host = host_in(
        folder,
        PermissionPolicy(allow=("cat *", "false"), allow_write=("src",)),
        [
            ("write", {"path": "src/a.py", "content": "print('one')\n"}),
            ("edit", {"path": "src/a.py", "old_text": "one", "new_text": "two"}),
            ("bash", {"command": "cat src/a.py"}),
        ],
        [
            ("read", {"path": "src/b.py"}),
            ("read", {"path": "../outside.txt"}),
            ("bash", {"command": "rm -rf src"}),
            ("bash", {"command": "false", "timeout": 5}),
            ("edit", {"path": "src/a.py"}),
        ],
    )

    await host.prompt("Go")
    await host.settled()

    beyond = f"../outside.txt, which leads to {outside}, is outside the working directory"
    assert results(host)[:7] == [
        (False, "Created src/a.py: 1 line, 13 B"),
        (False, "Edited src/a.py: 1 place, +1 -1 lines, from line 1 on"),
        (False, "print('two')"),
        (True, "src/b.py does not exist. Did you mean src/a.py?"),
        (True, f"Not allowed: {beyond}\nStart with --outside to allow it."),
        (True, f"Not allowed: rm -rf src\n{how}"),
        (True, "(no output)\n\n[Exit code 1]"),
    ]
    assert [is_error for is_error, _ in results(host)[7:]] == [True]
    assert (folder / "src/a.py").exists()


async def test_aborting_a_turn_ends_its_command(folder: Path) -> None:
    seconds = unique_duration()
    host = host_in(folder, PermissionPolicy(allow=("*",)), [("bash", {"command": f"sleep {seconds} & wait"})])
    await host.prompt("Go")
    await until_async(lambda: sleeping_processes(seconds))

    host.request_abort("enough")
    await host.settled()

    assert sleeping_processes(seconds) == []
    assert results(host) == [(True, "(no output)\n\n[Aborted]")]


async def test_the_system_prompt_describes_the_tools(folder: Path) -> None:
    host = host_in(folder, PermissionPolicy())

    await host.prompt("Go")
    await host.settled()

    model = host.model
    assert isinstance(model, Scripted)
    told = model.requests[0].system
    assert all(f"- {name}: " in told for name in ToolBench(folder).tools)
