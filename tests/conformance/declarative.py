"""Replays the vectors of `TodoWrite`: without argument validation, in a temporary folder, at the recorded time."""

import re
import shutil
import tempfile
import weakref
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from tildone import DECLARED
from tildone.app.completion_log import CompletionLog
from tildone.log.session import Session
from tildone.stores.memory import MemoryStore

TIME_MS = re.compile(r'^    "time_ms": \d+', re.MULTILINE)


class Declarative:
    """A project folder, a session, and a clock that the vector sets."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.root = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)
        for name, text in setup.get("files", {}).items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
        self.stamp = ""
        self.session = self.opened()

    def step(self, call: dict[str, Any], _vector: dict[str, Any]) -> dict[str, Any]:
        match call["op"]:
            case "TodoWrite":
                self.stamp = datetime.fromisoformat(call["now"]).strftime("%Y%m%d-%H%M%S")
                return self.write(call["parameters"])
            case "restart":
                self.session = self.opened()
                return {}
            case "remove_file":
                (self.root / call["path"]).unlink()
                return {}
            case op:
                raise NotImplementedError(op)

    def opened(self) -> Session:
        ids = count()
        completions = CompletionLog(str(self.root), lambda: self.stamp)
        return Session(
            MemoryStore(), "s", DECLARED, now=lambda: 0, new_id=lambda: str(next(ids)), completions=completions
        )

    def write(self, parameters: dict[str, Any]) -> dict[str, Any]:
        [tool] = DECLARED.tools
        reply = self.session.execute(tool, parameters)
        stats = {name: figure for name, figure in reply.details["stats"].items() if name != "time_ms"}
        return {
            "envelope": {**reply.details, "stats": stats},
            "json": TIME_MS.sub('    "time_ms": 0', reply.text),
            "log": self.log(),
        }

    def log(self) -> dict[str, str]:
        files = sorted((self.root / "memory" / "todos").glob("*"))
        return {
            file.relative_to(self.root).as_posix(): file.read_bytes().decode("utf-8", "surrogatepass") for file in files
        }
