"""What a command line asks a fleet to run: the repository, the agent, the model, labels and limits."""

from __future__ import annotations

import os
import re

from tildone.cli.output.patterns import tell_reach
from tildone.config import project_root
from tildone.errors import MAX_DIGITS, NotFound, UsageError, nearest, shortened
from tildone.fleet.drivers import AGENTS, RUN, SHELL
from tildone.log.fleet.lease import Work, check_work
from tildone.log.fleet.providers import provider_family
from tildone.log.fleet.repositories import is_address
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.config import Settings


def work_of(args: ParsedArgs, settings: Settings) -> Work:
    """Return what the options of a command line ask for.

    Raises:
        UsageError: an option has an invalid value, or contains a password.
        NotFound: the repository is a folder that does not exist.
    """
    model = args.options.get("model", "")
    agent = checked_agent(args.options.get("agent") or (RUN if model else SHELL))
    work = Work(
        repo=_repository(args.options.get("repo"), settings),
        provider=_provider(agent, model),
        labels=listed(args, "labels"),
        priority=_priority(args.options.get("priority", "0")),
        agent=agent,
        model=model,
        allow=args.values("allow"),
        ref=args.options.get("ref", ""),
    )
    check_work(work)
    tell_reach("--allow", work.allow)
    return work


def listed(args: ParsedArgs, option: str) -> tuple[str, ...]:
    """Return the words of an option that takes several, with commas between, and may be repeated; each once."""
    words = (word.strip() for given in args.values(option) for word in given.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def checked_agent(name: str) -> str:
    """Return the name of an agent.

    Raises:
        UsageError: there is no such agent.
    """
    if name not in AGENTS:
        raise UsageError(f"there is no agent {shortened(name)!r}; {nearest(name, tuple(AGENTS))}")
    return name


def _repository(given: str | None, settings: Settings) -> str:
    """Return the repository: an address as it is, a folder as an absolute path; empty if there is none."""
    if given is None:
        root = os.path.realpath(project_root(os.getcwd()))
        return root if os.path.exists(os.path.join(root, ".git")) else ""
    if is_address(given):
        return given.rstrip("/")
    path = os.path.realpath(os.path.expanduser(given))
    # Workers of a store on this machine run here; others may have folders that this machine lacks.
    if settings.store.path is not None and not os.path.isdir(path):
        raise NotFound(f"there is no folder {path}")
    return path


def _provider(agent: str, model: str) -> str:
    if agent == SHELL:
        return ""
    # Some agents have models of one provider only, whatever the names of these look like.
    name, *rest = re.split("[:/]", model, maxsplit=1)
    return AGENTS.entries[agent] or (provider_family(name) if rest else "")


def _priority(given: str) -> int:
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > MAX_DIGITS:
        raise UsageError(f"--priority requires a whole number, not {shortened(given)!r}")
    return int(given)
