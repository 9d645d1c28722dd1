"""Documented modules under their old names: extensions are written against them.

The finder in `tildone` asks for them before all others, so that no module is loaded a second time under its old name.
"""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader

MOVED = {
    "tildone.host": "tildone.run",
    "tildone.host.entries": "tildone.run.events",
    "tildone.host.events": "tildone.run.events",
    "tildone.host.extension_api": "tildone.run.host",
    "tildone.host.extension_context": "tildone.run.host",
    "tildone.host.extension_events": "tildone.run.extension",
    "tildone.host.messages": "tildone.run.messages",
    "tildone.host.parameters": "tildone.run.parameters",
    "tildone.kit": "tildone.run.kit",
    "tildone.kit.components": "tildone.run.kit.components",
    "tildone.kit.components.defaults": "tildone.run.kit.defaults",
    "tildone.kit.components.drawing": "tildone.run.kit.definition",
    "tildone.kit.definition": "tildone.run.kit.definition",
    "tildone.kit.formatting": "tildone.plan.text.amounts",
    "tildone.kit.functions": "tildone.run.kit.definition",
    "tildone.kit.signal": "tildone.run.kit.definition",
    "tildone.kit.theme": "tildone.plan.text.styles",
    "tildone.kit.truncate": "tildone.run.kit.definition",
    "tildone.kit.validation": "tildone.run.kit.definition",
    "tildone.kit.wrapping": "tildone.run.kit.definition",
    "tildone.value": "tildone.base",
}


class MovedModule:
    """The loader of a module that is another one."""

    def __init__(self, now: str) -> None:
        self.now = now

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let an empty module be made, which `exec_module` replaces."""

    def exec_module(self, module: object) -> None:
        name: str = module.__name__  # type: ignore[attr-defined]  # it is a module
        now = sys.modules[name] = __import__(self.now, fromlist=["_"])
        # It may have been a package, whose modules can be asked for only below a path.
        now.__dict__.setdefault("__path__", [])


def moved_spec(name: str) -> ModuleSpec | None:
    """Return how to load a module under its old name; None if it is not one of them."""
    now = MOVED.get(name)
    return None if now is None else spec_from_loader(name, MovedModule(now))  # type: ignore[arg-type]  # by shape
