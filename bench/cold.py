"""Time of a command in a new process, against a Python process that does nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from bench.measure import Row, medians
from bench.plans import filled_session
from tildone.stores.sqlite.store import SqliteStore

AIM = 4.0
BASE = "python -I -c pass"
COMMANDS = (("todo",), ("call", "list_todos", "{}"))


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """A row for each command."""
    script = Path(sys.executable).with_name("tildone")
    names = [f"cold: {' '.join(('tildone', *words))}" for words in COMMANDS]
    if find_spec("tildone.cli") is None or not script.exists():
        yield from (Row(name, BASE, AIM, skipped="there is no command line yet") for name in names)
        return
    store = folder / "cold.db"
    filled_session(SqliteStore(store), "bench").store.close()
    environ = {**os.environ, "TILDONE_STORE": str(store), "TILDONE_SESSION": "bench"}
    # An installed tildone has compiled bytecode; so has this one after the unmeasured round.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environ["PYTHONPYCACHEPREFIX"] = str(folder)
    acts = [command(environ, sys.executable, "-I", "-c", "pass")]
    acts += [command(environ, str(script), *words) for words in COMMANDS]
    bare, *taken = medians(acts, rounds)
    yield from (Row(name, BASE, AIM, took, bare) for name, took in zip(names, taken, strict=True))


def command(environ: Mapping[str, str], *words: str) -> Callable[[], object]:
    return lambda: subprocess.run(words, env=environ, check=True, stdout=subprocess.DEVNULL)
