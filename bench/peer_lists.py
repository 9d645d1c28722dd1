"""The todo lists that `bench.peers` compares: how each is installed, started and called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.tokens import TASKS, WORKLOADS, Call

NPM, PYPI, HERE = "npm", "PyPI", "this checkout"


@dataclass(frozen=True, slots=True)
class Peer:
    """A todo list. In the words of its commands, its files and its environment, {folder} is its project.

    The workload is a `script` of calls, or else it is made from `add`, `start` and `complete`; then `task_id` is the
    pattern of a task's id in an answer to `add`, without which the answer confirms nothing, and `finished` is in the
    files of the project as often as a task is completed.
    """

    name: str
    source: str = HERE
    packages: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    serve: tuple[str, ...] = ()
    script: Callable[[], Iterator[Call]] | None = None
    add: Callable[[Sequence[str], str], Call] | None = None
    adds_many: bool = False
    task_id: str = ""
    start: Callable[[str, str], Call] | None = None
    complete: Callable[[str, str], Call] | None = None
    finished: str = ""
    export: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    def calls(self, folder: str) -> Generator[Call, str, None]:
        """Yield the calls of the workload; the answer to each is sent in."""
        if self.script:
            yield from self.script()
            return
        assert self.add
        assert self.start
        assert self.complete
        ids: list[str] = []
        for texts in [TASKS] if self.adds_many else [(text,) for text in TASKS]:
            ids += re.findall(self.task_id, (yield self.add(texts, folder)))
        assert len(ids) == len(TASKS)
        for each in ids:
            yield self.start(each, folder)
            yield self.complete(each, folder)


def _shrimp(texts: Sequence[str], _folder: str) -> Call:
    tasks = [{"name": text, "description": f"{text}.", "implementationGuide": f"{text}."} for text in texts]
    raw = json.dumps(tasks, ensure_ascii=False)
    return "split_tasks", {"updateMode": "append", "tasksRaw": raw, "globalAnalysisResult": "Extend the language"}


def _langchain() -> Iterator[Call]:
    for _, arguments in WORKLOADS["declared"]():
        yield "write_todos", {"todos": arguments["todos"]}


# LangChain's middleware has no server: this one offers its tool, as a model is told of it, to the same client.
LANGCHAIN_SERVER = """
import json, sys, types
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.utils.function_calling import convert_to_openai_tool
[tool] = TodoListMiddleware().tools
def answer(method, params):
    if method == "tools/list":
        function = convert_to_openai_tool(tool)["function"]
        return {"tools": [function | {"inputSchema": function["parameters"]}]}
    if method == "tools/call":
        command = tool.func(types.SimpleNamespace(tool_call_id="1"), **params["arguments"])
        return {"content": [{"type": "text", "text": command.update["messages"][0].content}]}
    return {}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"id": message["id"], "result": answer(message["method"], message["params"])}), flush=True)
"""

PEERS = (
    Peer(
        "tildone brief",
        environ={"TILDONE_STORE": "{folder}/plans.db", "TILDONE_SESSION": "bench"},
        serve=("tildone", "mcp", "--dialect", "brief"),
        script=WORKLOADS["brief"],
        add=lambda texts, _: ("todo", {"add": list(texts)}),
        export=("tildone", "todo", "export", "-"),
        command=("tildone", "todo"),
    ),
    Peer(
        "Taskmaster 0.43.1",
        NPM,
        ("task-master-ai@0.43.1",),
        files={".taskmaster/tasks/tasks.json": '{"master": {"tasks": [], "metadata": {}}}'},
        # The smallest set of its tools with one that adds a task.
        environ={"TASK_MASTER_TOOLS": "standard", "TASKMASTER_SKIP_AUTO_UPDATE": "1"},
        serve=("task-master-ai",),
        add=lambda texts, root: ("add_task", {"title": texts[0], "description": texts[0], "projectRoot": root}),
        task_id=r'"taskId": (\d+)',
        start=lambda task, root: ("set_task_status", {"id": task, "status": "in-progress", "projectRoot": root}),
        complete=lambda task, root: ("set_task_status", {"id": task, "status": "done", "projectRoot": root}),
        finished='"status": "done"',
        command=("task-master", "list"),
    ),
    Peer(
        "Backlog.md 1.52.0",
        NPM,
        ("backlog.md@1.52.0",),
        prepare=("backlog", "init", "Bench", "--defaults", "--integration-mode", "none", "--no-git"),
        serve=("backlog", "mcp", "start"),
        add=lambda texts, _: ("task_create", {"title": texts[0]}),
        task_id=r"Task (TASK-\d+) -",
        start=lambda task, _: ("task_edit", {"id": task, "status": "In Progress"}),
        complete=lambda task, _: ("task_edit", {"id": task, "status": "Done"}),
        finished="status: Done",
        command=("backlog", "task", "list", "--plain"),
    ),
    Peer(
        "Shrimp 1.0.21",
        NPM,
        ("mcp-shrimp-task-manager@1.0.21",),
        environ={"DATA_DIR": "{folder}/data", "ENABLE_GUI": "false"},
        serve=("mcp-shrimp-task-manager",),
        add=_shrimp,
        adds_many=True,
        task_id=r"\*\*ID:\*\* `([^`]+)`",
        start=lambda task, _: ("execute_task", {"taskId": task}),
        complete=lambda task, _: (
            "verify_task",
            {"taskId": task, "score": 100, "summary": f"Done as it was described: {task}"},
        ),
        finished='"status": "completed"',
    ),
    Peer(
        "dex 0.16.0",
        NPM,
        ("@zeeg/dex@0.16.0",),
        serve=("dex", "mcp", "--storage-path", "{folder}/dex"),
        add=lambda texts, _: ("create_task", {"name": texts[0], "description": texts[0]}),
        task_id=r'"id": "(\w+)"',
        start=lambda task, _: ("update_task", {"id": task, "started_at": "2026-11-15T12:00:00Z"}),
        complete=lambda task, _: ("update_task", {"id": task, "completed": True, "result": "Done"}),
        finished='"completed":true',
        command=("dex", "list", "--all", "--storage-path", "{folder}/dex"),
    ),
    Peer(
        "LangChain 1.4.0",
        PYPI,
        ("langchain==1.4.0",),
        serve=("python", "-c", LANGCHAIN_SERVER),
        script=_langchain,
    ),
    Peer(
        "topydo 0.16",
        PYPI,
        ("topydo==0.16",),
        files={"todo.txt": "\n".join(TASKS)},
        command=("topydo", "-t", "{folder}/todo.txt", "ls"),
    ),
)
