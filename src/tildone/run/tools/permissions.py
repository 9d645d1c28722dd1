"""Permissions of the built-in tools: files below the working directory, changes of files, and allowed commands.

Paths are resolved with all symbolic links before they are checked, so a link cannot lead out of the working directory.
A command line is split into simple commands, and a pattern must cover each of them. A file is
changed only if a pattern allows it. For anything else the person is asked; without a UI it is refused. This protects
against mistakes of a model. It is not a sandbox: an allowed command runs with the person's own rights.

What a permission for a command covers beyond one call is the pattern that the person is shown and grants: the program
and `*`, as `--allow` takes it; for a program with subcommands, it names the subcommand. Some programs are too powerful
for that: they delete files, or run any command that they are given. A line that uses one of them is covered only as it
stands, because the same command may do something else in another place of another line.

Theory of operation. A pattern is written like a command and split into words as a shell does. Each word of it matches
one argument, with `*`, `?` and `[…]` as wildcards; a last word `*` matches any number of arguments, and the pattern `*`
alone matches every line. A pattern for a redirection is `> file` or `< file`. Every part of a line needs a pattern.

A wildcard is not a permission to run other programs. It never covers an assignment before the command, a word with a
substitution or a variable, the subscript of a variable that a word names (`printf -v 'a[$(id)]' x`), or the words that
`plan.shell.danger` lists, such as `-exec` of find. A pattern that names such a word literally (`find . -exec *`)
covers it, with everything that it can be used for.
"""

import asyncio
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, Literal, TypeVar

from tildone.base import UsageError, replace, value
from tildone.plan.model import Plan, open_tasks
from tildone.plan.shell import danger
from tildone.plan.shell.syntax import Command, Part, Redirection, Word, WordKind, split_line
from tildone.plan.text.safe import printable, printable_lines
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.host import ExtensionContext, asking
from tildone.run.kit.definition import AbortSignal
from tildone.run.tools import files

WINDOWS = sys.platform == "win32"

EVERYTHING = "*"
"""The pattern that allows any line, even one that cannot be split."""

_WILDCARDS = re.compile(r"[*?\[]")


def parse_pattern(text: str, *, windows: bool = WINDOWS) -> Part:
    """Return the command or redirection of a pattern; its wildcards are words of the kind `GLOB`."""
    parts = split_line(text, windows=windows)
    if parts is None or len(parts) != 1:
        raise UsageError(f"{text!r} is not a pattern for one command: give --allow once for each, such as 'git diff *'")
    [part] = parts
    if windows and isinstance(part, Command):
        words = (replace(word, kind=WordKind.GLOB) if _WILDCARDS.search(word.value) else word for word in part.words)
        return replace(part, words=tuple(words))
    return part


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern; older conversations may contain others."""
    try:
        parse_pattern(text)
    except UsageError:
        return False
    return True


def not_allowed(line: str, allow: Sequence[str], *, windows: bool = WINDOWS) -> tuple[Part, ...] | None:
    """Return the parts of a line that no pattern covers; None if it cannot be split, and only `*` would cover it."""
    if EVERYTHING in allow:
        return ()
    parts = split_line(line, windows=windows)
    if parts is None:
        return None
    patterns = [parse_pattern(text, windows=windows) for text in allow]
    return tuple(part for part in parts if not any(covers(pattern, part) for pattern in patterns))


def covers(pattern: Part, part: Part) -> bool:
    if isinstance(pattern, Command) and isinstance(part, Command):
        return _covers_command(pattern.words, part.words)
    if isinstance(pattern, Redirection) and isinstance(part, Redirection):
        # Through `..` a wildcard for one folder would lead into others.
        inside = not _is_wildcard(pattern.target) or ".." not in part.target.value.split("/")
        return pattern.sign == part.sign and inside and _matches(pattern.target, part.target)
    return False


def describe_pattern(text: str) -> str:
    """Return what a pattern covers, for the person who gives it."""
    if text == EVERYTHING:
        return "every command"
    part = parse_pattern(text)
    if isinstance(part, Redirection):
        verb = "writing to" if part.sign == ">" else "reading from"
        return f"{verb} {part.target.text} in redirections"
    program = next((word for word in part.words if not danger.is_assignment(word.text)), part.words[-1])
    name = danger.program_name(program.value)
    exact = not any(map(_is_wildcard, part.words))
    notes = [f"which {danger.POWERFUL[name]}"] if name in danger.POWERFUL else []
    if name in danger.RUNS_PROJECT_CODE:
        notes.append("which runs code of the project")
    if not exact and (name in danger.RULES or _is_wildcard(program)):
        notes.append("without arguments that run other programs or write other files, unless the pattern names them")
    scope = "exactly this command" if exact else "this command with any arguments in place of *"
    return ", ".join([scope, *notes])


def _is_wildcard(word: Word) -> bool:
    return word.kind is WordKind.GLOB


def _matches(pattern: Word, word: Word) -> bool:
    if _is_wildcard(pattern):
        return word.kind is not WordKind.UNKNOWN and fnmatchcase(word.value, pattern.value)
    if word.kind is WordKind.LITERAL:
        return pattern.kind is WordKind.LITERAL and pattern.value == word.value
    return pattern.kind is word.kind and pattern.text == word.text


def _covers_command(patterns: tuple[Word, ...], words: tuple[Word, ...]) -> bool:
    any_more = _is_wildcard(patterns[-1]) and patterns[-1].value == EVERYTHING
    fixed = patterns[:-1] if any_more else patterns
    more = words[len(fixed) :]
    if len(words) < len(fixed) or (more and not any_more) or any(word.kind is WordKind.UNKNOWN for word in more):
        return False
    if not all(map(_matches, fixed, words)):
        return False
    if not any(map(_is_wildcard, patterns)):
        return True
    named = [not _is_wildcard(word) for word in fixed] + [False] * len(more)
    start = next((at for at, word in enumerate(words) if not danger.is_assignment(word.text)), len(words))
    if not all(named[:start]) or start == len(words):
        return False
    name = danger.program_name(words[start].value)
    if not named[start] and (name in danger.POWERFUL or words[start].kind is not WordKind.LITERAL):
        return False
    arguments, are_named = words[start + 1 :], named[start + 1 :]
    if name in danger.NAMES_VARIABLES and any(
        danger.has_subscript(word.value) for word, is_named in zip(arguments, are_named, strict=True) if not is_named
    ):
        return False
    return name not in danger.RULES or _covers_arguments(name, arguments, are_named)


def _covers_arguments(name: str, words: tuple[Word, ...], named: list[bool]) -> bool:
    """Return whether the wildcards cover only harmless arguments, or the pattern names a word that is not."""
    rule = danger.RULES[name]
    operand = next((at for at, word in enumerate(words) if not _is_option(word)), len(words))
    inner = danger.RULES.get(f"{name} {words[operand].value}", danger.Rule()) if operand < len(words) else danger.Rule()
    ordered = rule.subcommands or rule.script

    def is_harmful(at: int) -> bool:
        text = words[at].value
        if name in danger.BUNDLED and at == 0 and not text.startswith("-"):
            text = f"-{text}"
        before = bool(ordered) and at < operand and not rule.before.fullmatch(text)
        return before or danger.is_refused(text, rule) or danger.is_refused(text, inner)

    harmful = [at for at in range(len(words)) if is_harmful(at)]
    if any(named[at] for at in harmful):
        return True
    if harmful or any(_may_be_option(word) for word, is_named in zip(words, named, strict=True) if not is_named):
        return False
    operands = [word for word in words if not _is_option(word)]
    if rule.operands is not None and (len(operands) > rule.operands or any(map(_is_wildcard, operands))):
        return False
    return (operand < len(words) and named[operand]) or _allows_operand(rule, words[operand : operand + 1])


def _is_option(word: Word) -> bool:
    return word.value.startswith("-") and word.value != "-"


def _may_be_option(word: Word) -> bool:
    """Return whether the shell may replace a wildcard of the command by a file that is named like an option."""
    if not _is_wildcard(word):
        return False
    start = _WILDCARDS.split(word.value)[0]
    return "/" not in start or start.startswith("-")


def _allows_operand(rule: danger.Rule, operand: tuple[Word, ...]) -> bool:
    text = operand[0].value if operand else ""
    if any(word.kind is not WordKind.LITERAL for word in operand) and (rule.subcommands or rule.script):
        return False
    if rule.subcommands:
        return not text or text in rule.subcommands
    return rule.script is None or rule.script.fullmatch(text) is not None


THIS_COMMAND = "exactly this command"

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_NOTED = "$ "


def pattern_for(part: Part) -> str | None:
    """Return a pattern for commands like this one; a redirection matches only itself. None if there is none."""
    if isinstance(part, Redirection):
        return part.text if part.target.kind is WordKind.LITERAL else None
    program = part.words[0].value
    name = danger.program_name(program)
    if name in danger.POWERFUL:
        return None
    subcommands = danger.RULES[name].subcommands if name in danger.RULES else frozenset()
    words = [program, *(word.value for word in part.words[1:2] if word.value in subcommands)]
    more = [] if len(part.words) == 1 else [EVERYTHING]
    return _if_covering(" ".join([*map(shlex.quote, words), *more]), part)


def plan_commands(plan: Plan) -> tuple[str, ...]:
    """Return the commands of the open tasks: text in backticks, and lines of notes that begin with `$ `."""
    found: dict[str, None] = {}
    for _, task in open_tasks(plan):
        found |= {match[2].strip(): None for match in _CODE_SPAN.finditer(task.text)}
        lines = [line for note in task.notes for line in note.splitlines()]
        found |= {line.removeprefix(_NOTED).strip(): None for line in lines if line.startswith(_NOTED)}
    return tuple(command for command in found if command)


def _if_covering(pattern: str, part: Part) -> str | None:
    fits = pattern != EVERYTHING and is_pattern(pattern) and covers(parse_pattern(pattern), part)
    return pattern if fits else None


T = TypeVar("T")
Access = Literal["read", "write"]
Ask = Callable[[ExtensionContext, PermissionRequest], Awaitable[PermissionReply | None]]
PlanOf = Callable[[str], Plan]
"""Returns the plan of a conversation, given its id."""


async def ask_person(ctx: ExtensionContext, request: PermissionRequest) -> PermissionReply | None:
    """Ask the person, and return None if there is no UI. Declining the question counts as no."""
    if not ctx.has_ui:
        return None
    return await ctx.ui.ask_permission(request) or PermissionReply(PermissionAnswer.NO)


@value
class PermissionPolicy:
    """What is allowed without asking, and how to ask for the rest; if `ask` is None, the rest is refused.

    `allow` contains patterns for commands, like `git diff *`; `*` allows all commands. `allow_write` contains
    patterns for the files that may be changed, like `src/*`. `outside` allows files outside the working directory.
    `pass_env` names secret environment variables that commands get all the same.
    """

    allow: tuple[str, ...] = ()
    outside: bool = False
    ask: Ask | None = ask_person
    allow_write: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()


class _Grants:
    """What the person has allowed in one conversation and its subagents: patterns and single actions."""

    def __init__(self) -> None:
        self.commands: tuple[str, ...] = ()
        self.files: tuple[str, ...] = ()
        self.actions: set[str] = set()


class PermissionGuard:
    """A policy, and what the person has allowed so far in each conversation."""

    def __init__(self, policy: PermissionPolicy, plan_of: PlanOf | None = None) -> None:
        self.policy = policy
        self._plan_of = plan_of
        self._grants: dict[str, _Grants] = {}
        self._asking = asyncio.Lock()
        self._output_files: set[str] = set()

    async def file(self, path: str, access: Access, ctx: ExtensionContext, signal: AbortSignal | None) -> str:
        """Return the resolved path, if it may be accessed."""
        real = files.resolve_path(path, ctx.cwd)
        action = f"{access} {real}"

        def is_allowed() -> bool:
            is_own_output = access == "read" and real in self._output_files
            allowed = self.policy.outside or is_own_output or files.is_below(real, ctx.cwd)
            return allowed or action in self._granted(ctx).actions

        verb = "Read" if access == "read" else "Change"
        request = PermissionRequest(
            f"{verb} {printable(real)}, which is outside the working directory?", always="exactly this file"
        )
        refusal = (f"{_with_target(path, real)} is outside the working directory", "Start with --outside to allow it.")
        await self._require(is_allowed, request, refusal, ctx, signal, lambda grants: grants.actions.add(action))
        return real

    async def change(self, change: files.PreparedChange, ctx: ExtensionContext, signal: AbortSignal | None) -> None:
        """Check that the file may be changed; the person is shown the diff."""
        ordinary = files.is_below(change.path, ctx.cwd) and not files.is_in_git(change.path, ctx.cwd)

        def is_allowed() -> bool:
            granted = self._granted(ctx)
            patterns = (*self.policy.allow_write, *granted.files)
            matched = any(files.matches_path(change.path, ctx.cwd, pattern) for pattern in patterns)
            return matched or f"change {change.path}" in granted.actions

        def grant(grants: _Grants) -> None:
            if ordinary:
                grants.files = (*grants.files, files.EVERY_FILE)
            else:
                grants.actions.add(f"change {change.path}")

        if is_allowed():
            return
        shown = await asyncio.to_thread(files.show_change, change)
        verb = "Create" if change.is_new else "Change"
        counts = f"  +{shown.added} −{shown.removed}" if shown.added or shown.removed else ""
        request = PermissionRequest(
            f"{verb} {printable(change.shown)}?{counts}",
            tuple(printable(line.removesuffix("\r").replace("\t", "    ")) for line in shown.lines),
            always="every file in this folder and below" if ordinary else "exactly this file",
            is_diff=True,
        )
        await self._require(is_allowed, request, _write_refusal(change, ordinary=ordinary), ctx, signal, grant)

    async def command(self, line: str, ctx: ExtensionContext, signal: AbortSignal | None) -> None:
        """Check that the command may run."""

        def missing() -> tuple[Part, ...] | None:
            granted = self._granted(ctx)
            if f"run {line}" in granted.actions:
                return ()
            return not_allowed(line, (*self.policy.allow, *granted.commands))

        parts = missing()
        if parts == ():
            return
        found = [pattern_for(part) for part in parts or ()]
        # Without a pattern for each part that is not allowed yet, only the whole line is covered.
        patterns = () if None in found else tuple(dict.fromkeys(each for each in found if each is not None))
        planned = plan_commands(self._plan_of(ctx.conversation.id)) if self._plan_of is not None else ()

        def grant(grants: _Grants) -> None:
            grants.commands = (*grants.commands, *patterns)
            if not patterns:
                grants.actions.add(f"run {line}")

        request = PermissionRequest(
            "Run this command?",
            tuple(printable_lines(line)),
            always=", ".join(map(printable, patterns)) or THIS_COMMAND,
            plan=planned if line in planned and len(planned) > 1 else (),
        )
        await self._require(lambda: missing() == (), request, _command_refusal(line, parts), ctx, signal, grant)

    def create_output_file(self) -> tuple[BinaryIO, str]:
        """Create a temporary file for output, and return it and its path. The tools may read it."""
        descriptor, path = tempfile.mkstemp(prefix="tildone-", suffix=".log")
        real = os.path.realpath(path)
        self._output_files.add(real)
        return os.fdopen(descriptor, "wb"), real

    async def _require(
        self,
        is_allowed: Callable[[], bool],
        request: PermissionRequest,
        refusal: tuple[str, str],
        ctx: ExtensionContext,
        signal: AbortSignal | None,
        grant: Callable[[_Grants], object],
    ) -> None:
        if is_allowed():
            return
        # Also while another call asks: the answer to that may settle this question.
        with asking():
            reply = await unless_aborted(self._reply(is_allowed, request, ctx, grant), signal)
        what, remedy = refusal
        if reply is None:
            raise files.ToolFailure(f"Not allowed: {what}\n{remedy}")
        if reply.answer is PermissionAnswer.NO:
            reason = f"\nTheir reason: {reply.reason}" if reply.reason else ""
            raise files.ToolFailure(f"Denied by the person who was asked: {what}{reason}")

    async def _reply(
        self,
        is_allowed: Callable[[], bool],
        request: PermissionRequest,
        ctx: ExtensionContext,
        grant: Callable[[_Grants], object],
    ) -> PermissionReply | None:
        """Ask the person, one question at a time: the answer to one may settle the next."""
        async with self._asking:
            if is_allowed():
                return PermissionReply(PermissionAnswer.ONCE)
            reply = None if self.policy.ask is None else await self.policy.ask(ctx, request)
            if reply is not None and reply.answer is PermissionAnswer.ALWAYS:
                grant(self._granted(ctx))
            if reply is not None and reply.answer is PermissionAnswer.PLAN:
                self._granted(ctx).actions |= {f"run {command}" for command in request.plan}
            return reply

    def _granted(self, ctx: ExtensionContext) -> _Grants:
        return self._grants.setdefault(ctx.permission_scope, _Grants())


def _with_target(path: str, real: str) -> str:
    """Return a path as it was given, with its target if that differs."""
    return path if os.path.normpath(path) == real else f"{path}, which leads to {files.decodable_name(real)},"


def _write_refusal(change: files.PreparedChange, *, ordinary: bool) -> tuple[str, str]:
    every = f", or with --allow-write '{files.EVERY_FILE}' for every file in the working directory" if ordinary else ""
    remedy = f"Start with --allow-write {shlex.quote(change.shown)} to allow it{every}."
    return (f"changing {change.shown}", remedy)


def _command_refusal(line: str, missing: tuple[Part, ...] | None) -> tuple[str, str]:
    if missing is None:
        remedy = (
            f"It is not made of simple commands alone, so only --allow '{EVERYTHING}', for every command, allows it."
        )
        return (line, remedy)
    what = "; ".join(part.text for part in missing)
    patterns = [pattern_for(part) or _if_covering(part.text, part) for part in missing]
    if None in patterns:
        return (what, f"Only --allow '{EVERYTHING}', for every command, allows it.")
    flags = dict.fromkeys(f"--allow {shlex.quote(pattern)}" for pattern in patterns if pattern is not None)
    remedy = f"Start with {' '.join(flags)} to allow it, or with --allow '{EVERYTHING}' for every command."
    return (what, remedy)


async def unless_aborted(work: Coroutine[Any, Any, T], signal: AbortSignal | None) -> T:
    """Return the result of `work`, which is cancelled when the signal is set."""
    task = asyncio.ensure_future(work)
    unsubscribe = signal.on_abort(task.cancel) if signal else lambda: None
    try:
        return await task
    except asyncio.CancelledError:
        if signal:
            signal.raise_if_aborted()
        raise
    finally:
        unsubscribe()
