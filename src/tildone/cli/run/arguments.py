"""The arguments of `tildone run`: the assignment, the model, the conversation and the mode."""

from __future__ import annotations

import os
import re
import sys

from tildone.cli.opening import settings_for
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import Settings
from tildone.errors import NotFound, UsageError, nearest
from tildone.value import value

MODES = ("terminal", "print", "json", "rpc")
SHELL = "shell"
PLAN_SUFFIXES = (".md", ".markdown")
STDIN = "-"

CONVERSATION_OPTIONS = ("session", "continue", "resume")
CONVERSATION_ID = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)

NO_MODEL = """\
which model? Name one with --model, $TILDONE_MODEL or `model` in config.toml:
  anthropic:claude-sonnet-5-5    with $ANTHROPIC_API_KEY
  openai-chat:gpt-5              with $OPENAI_API_KEY
  openai-chat:NAME               with $OPENAI_BASE_URL, for a server of your own that speaks like OpenAI
  ollama:NAME                    with $OLLAMA_BASE_URL
Without a model, tildone runs a plan whose tasks carry commands: tildone run PLAN.md"""


@value
class Assignment:
    """The task of a run: its prompt, and the text and name of the plan file it was read from, if any."""

    prompt: str
    plan: str | None = None
    name: str = ""


@value
class RunArguments:
    """The checked arguments. Without `work` the person types the task; `store` is the value of --store, if given."""

    settings: Settings
    mode: str
    model: str
    work: Assignment | None
    cwd: str
    store: str | None = None
    session: str | None = None
    resume: str | None = None
    fork: str | None = None
    latest: bool = False
    stored: bool = True
    allow: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    outside: bool = False
    tools: bool = True


def parse_arguments(parsed: ParsedArgs) -> RunArguments:
    """Parse and check the command line.

    Raises:
        UsageError: an argument is missing or invalid, or two exclude each other.
        NotFound: the plan file does not exist.
    """
    settings = settings_for(parsed)
    _check(parsed)
    work = _work(parsed.positional)
    mode = parsed.options.get("mode", "terminal")
    if work is None and mode in {"print", "json"} and not parsed.has("fork"):
        raise UsageError(f"what is to be done? tildone run TASK --mode {mode}, or PLAN.md, or - for standard input")
    if work is not None and work.plan is None and mode == "rpc":
        raise UsageError("in rpc mode the client says what is to be done; leave TASK out")
    model = settings.model or (SHELL if work and work.plan is not None else "")
    if not model:
        raise UsageError(NO_MODEL)
    if model == SHELL and (work is None or work.plan is None):
        raise UsageError("the shell model works through a plan: tildone run PLAN.md")
    return RunArguments(
        settings=settings,
        mode=mode,
        model=model,
        work=work,
        cwd=os.getcwd(),
        store=parsed.options.get("store"),
        session=parsed.options.get("session"),
        resume=parsed.options.get("resume"),
        fork=parsed.options.get("fork"),
        latest=parsed.has("continue"),
        stored=not parsed.has("no-session"),
        allow=parsed.values("allow"),
        allow_write=parsed.values("allow-write"),
        outside=parsed.has("outside"),
        tools=not parsed.has("no-builtin-tools"),
    )


def _check(parsed: ParsedArgs) -> None:
    mode = parsed.options.get("mode", "terminal")
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}; {nearest(mode, MODES)}")
    given = [f"--{name}" for name in CONVERSATION_OPTIONS if parsed.has(name)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} name different conversations: say one of them")
    if given and parsed.has("no-session"):
        raise UsageError(f"{given[0]} continues a stored conversation; --no-session stores none")


def _work(words: tuple[str, ...]) -> Assignment | None:
    if not words:
        return None
    if len(words) == 1 and words[0].lower().endswith(PLAN_SUFFIXES) and " " not in words[0]:
        plan = _read(words[0])
        return Assignment(f"Work through this plan, task by task:\n\n{plan.strip()}", plan, os.path.basename(words[0]))
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if words == (STDIN,) else " ".join(words)
    if not text.strip():
        raise UsageError("what is to be done? The task is empty")
    return Assignment(text.strip())


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(f"there is no plan {path}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
