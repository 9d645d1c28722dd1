"""What commands can do: programs and arguments that a wildcard never covers, dangerous lines, the reach of a pattern.

The tables name the programs that are common in projects. They cannot be complete: a program that is not listed is
covered with all its arguments by a pattern that names it.

For `danger`, a line is split as for permissions, and programs that run others (`sudo`, `xargs`, `sh -c`, `find -exec`)
are looked through. A line that cannot be split is cut roughly instead, so that nothing in it is missed: it may then be
called dangerous for a text that is only quoted. That a line is not called dangerous proves nothing.
"""

from __future__ import annotations

import re
import shlex
from itertools import dropwhile, islice

from tildone.base import TYPE_CHECKING, value
from tildone.plan.shell.syntax import Command, Redirection, WordKind, split_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_NEVER = re.compile("(?!)")


@value
class Rule:
    """What a wildcard does not cover in the arguments of a program.

    `runs` lists words and options that run other programs, `writes` those that write, replace or delete files. `--long`
    also matches its abbreviations, `-x` any group of short options with that letter, and `-word` the same option with
    two dashes. `words` matches other arguments that do so. If `subcommands` is not empty, the first operand must be one
    of them; if `script` is given, the first operand must match it. In both cases only options that match `before` may
    precede the operand. `operands` is how many there may be: the next one is written to.
    """

    runs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    words: re.Pattern[str] = _NEVER
    subcommands: frozenset[str] = frozenset()
    script: re.Pattern[str] | None = None
    before: re.Pattern[str] = _NEVER
    operands: int | None = None


_WRITES = "writes any file"

_POWERS = {
    "runs any command that it is given": (
        "sh bash dash zsh ksh ash fish csh tcsh busybox cmd powershell pwsh command builtin exec eval source . trap "
        "env xargs nice nohup timeout time stdbuf setsid sudo doas su runuser pkexec ssh watch parallel ionice chroot "
        "unshare nsenter strace ltrace script expect flock taskset chrt systemd-run at batch crontab screen tmux entr "
        "npx bunx pnpx uvx pipx docker podman kubectl vagrant let fc compgen complete bind"
    ),
    "runs any code that it is given": (
        "vi vim nvim view ex ed emacs nano pico less more man info gdb lldb sqlite3 psql mysql deno "
        "irb ipython ghci iex jshell m4 dc gnuplot octave"
    ),
    "runs what the project's files tell it to": "make gmake ninja cmake just rake ant mvn gradle bazel",
    _WRITES: (
        "tee dd cp mv ln install rsync scp sftp wget patch tar zip unzip truncate chmod chown split csplit sponge "
        "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd"
    ),
    "deletes any file": "rm rmdir unlink shred mkfs",
    "changes what later commands of the line do": (
        "export alias declare typeset readonly local set shopt enable hash unset read mapfile readarray getopts"
    ),
}

POWERFUL: dict[str, str] = {program: power for power, names in _POWERS.items() for program in names.split()}
"""Programs that a wildcard never stands for, with the reason. "Always" covers only the exact line that uses one."""

_SCRIPTS = ("lua", "luajit", "tclsh", "Rscript", "julia", "guile", "groovy", "ts-node", "tsx")
"""Interpreters without options that are worth a rule."""

RUNS_PROJECT_CODE = frozenset(
    ("pytest", "tox", "nox", "python", "pypy", "node", "perl", "ruby", "php", "cargo", "go", *_SCRIPTS)
)
"""Programs that are covered by a pattern that names them, although their purpose is to run code of the project."""

_GIT_READS = (
    "status diff log show blame annotate grep shortlog describe rev-parse rev-list ls-files ls-tree cat-file diff-tree "
    "diff-index diff-files merge-base name-rev reflog show-ref for-each-ref count-objects version whatchanged cherry "
    "range-diff check-ignore check-attr"
)
_GIT_WRITES = (
    "add commit restore rm mv stash switch checkout branch tag merge cherry-pick revert reset rebase notes clean"
)
_GIT_OPTIONS = re.compile("--no-pager|--no-optional-locks|--literal-pathspecs|--version")

# Commands such as p, d and q, and substitutions without the flags e and w.
_SED_ADDRESS = r"(?:[0-9]+|\$|/[^/\\\n]*/)"
_SED_SUBSTITUTION = "|".join(
    rf"s{sign}[^{sign}\\\n]*(?:\\.[^{sign}\\\n]*)*{sign}[^{sign}\\\n]*(?:\\.[^{sign}\\\n]*)*{sign}[gpI0-9]*"
    for sign in ("/", "#", ",", r"\|")
)
_SED_COMMAND = rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?!?)?(?:[pdqnNPD=]|{_SED_SUBSTITUTION})"
_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}(?:; ?{_SED_COMMAND})*")
_AWK_PROGRAM = re.compile("(?!.*(?:system|getline))[^|>@]*", re.DOTALL)

# No option, and no stream that another command of the line may write to: /dev/stdin, /dev/fd/3, /proc/self/fd/0.
# They may be named from their own folder, too.
_FILE = re.compile(r"(?!(?:.*/)?(?:stdin|tty[^/]*|console|ptmx|[0-9]+)/*\Z)[^-].*", re.DOTALL)

_AWK = Rule(("-f", "--file"), script=_AWK_PROGRAM, before=re.compile("-F.+"))
_PYTHON = Rule(script=_FILE, before=re.compile("-[BEIOPsSuq]+"))
_PACKAGES = "list ls show view info outdated why"
_GIT_DIFF = Rule(("--ext-diff", "--textconv"), ("--output",))

RULES: dict[str, Rule] = {
    "git": Rule(
        (
            *("--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "--extcmd"),
            *("--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--template"),
        ),
        ("--output",),
        subcommands=frozenset(f"{_GIT_READS} {_GIT_WRITES}".split()),
        before=_GIT_OPTIONS,
    ),
    "git archive": Rule(("--remote",), ("-o",)),
    "git bisect": Rule(("run",)),
    "git clone": Rule(("-c", "--config", "-u")),
    "git config": Rule(("-e", "--edit")),
    "git diff": _GIT_DIFF,
    "git difftool": Rule(("-x", "-t", "--tool")),
    "git fetch-pack": Rule(("--upload-pack",)),
    "git grep": Rule(("-O",)),
    "git log": _GIT_DIFF,
    "git ls-remote": Rule(("--upload-pack",)),
    "git mergetool": Rule(("-t", "--tool")),
    "git rebase": Rule(("-x",)),
    "git show": _GIT_DIFF,
    "git submodule": Rule(("foreach",)),
    "find": Rule(("-exec", "-execdir", "-ok", "-okdir"), ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls")),
    "fd": Rule(("-x", "-X", "--exec", "--exec-batch")),
    "rg": Rule(("--pre", "--hostname-bin")),
    "tar": Rule(
        (
            *("-I", "--use-compress-program", "--to-command", "--checkpoint-action", "-F", "--info-script"),
            *("--new-volume-script", "--rsh-command", "--rmt-command", "-T", "--files-from"),
        ),
        (
            *("-C", "--directory", "-P", "--absolute-names", "-g", "--listed-incremental", "--index-file"),
            *("--remove-files", "--one-top-level"),
        ),
    ),
    "sort": Rule(("--compress-program",), ("-o", "--output", "-T", "--temporary-directory")),
    "shuf": Rule((), ("-o", "--output")),
    "uniq": Rule(operands=1),
    "xxd": Rule(operands=1),
    "split": Rule(("--filter",)),
    "tree": Rule((), ("-o",)),
    "yq": Rule((), ("-i", "--inplace", "--in-place", "-s", "--split-exp")),
    "iconv": Rule((), ("-o", "--output")),
    "openssl": Rule(("-engine", "-provider", "-provider-path"), ("-out", "-keyout", "-writerand")),
    "pandoc": Rule(
        ("-F", "--filter", "-L", "--lua-filter", "--pdf-engine", "-d", "--defaults"),
        ("-o", "--output", "--extract-media", "--log"),
    ),
    "rsync": Rule(
        ("-e", "--rsh", "--rsync-path"),
        (
            *("--log-file", "--write-batch", "--only-write-batch", "--backup-dir", "--partial-dir", "-T"),
            *("--temp-dir", "--delete", "--delete-after", "--delete-excluded", "--remove-source-files"),
        ),
    ),
    "scp": Rule(("-S", "-o", "-F", "-D")),
    "sftp": Rule(("-S", "-o", "-F", "-D", "-b")),
    "ssh": Rule(("-o", "-F"), ("-E",)),
    "zip": Rule(("-T", "--test", "--unzip-command"), ("-m", "--move", "-O", "--out", "-lf", "-b")),
    "man": Rule(("-P", "--pager", "-H", "--html")),
    "vim": Rule(("-c", "--cmd", "-S", "-s", "-u")),
    "wget": Rule(
        ("-e", "--execute", "--config", "--use-askpass"),
        (
            *("-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "-P", "--directory-prefix"),
            *("--save-cookies", "--hsts-file", "--rejected-log", "--warc-file", "--warc-tempdir", "--delete-after"),
        ),
    ),
    "curl": Rule(
        ("-K", "--config", "--engine"),
        (
            *("-o", "--output", "-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"),
            *("--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr"),
            *("--libcurl", "--etag-save", "--hsts", "--alt-svc", "--ssl-sessions", "-T", "--upload-file"),
        ),
        # The format of -w can name files, and be in one; `--expand-output` is `--output` with variables.
        words=re.compile(r".*%output\{.*|(?:-w|--write-out=)?@.*|--expand-.*", re.DOTALL),
    ),
    "sed": Rule(
        ("-e", "--expression", "-f", "--file"),
        ("-i", "--in-place", "-l", "--line-length"),
        script=_SED_SCRIPT,
        before=re.compile("-[nErsuz]+|--quiet|--silent|--regexp-extended"),
    ),
    "awk": _AWK,
    "gawk": _AWK,
    "mawk": _AWK,
    "nawk": _AWK,
    "python": _PYTHON,
    "pypy": _PYTHON,
    "perl": Rule(script=_FILE, before=re.compile("-[wWtT]+")),
    "ruby": Rule(script=_FILE, before=re.compile("-w")),
    "node": Rule(script=_FILE, before=re.compile("--test")),
    "php": Rule(script=_FILE),
    **dict.fromkeys(_SCRIPTS, Rule(script=_FILE)),
    "npm": Rule(subcommands=frozenset(f"{_PACKAGES} explain root prefix ping whoami".split())),
    "yarn": Rule(subcommands=frozenset(_PACKAGES.split())),
    "pnpm": Rule(subcommands=frozenset(_PACKAGES.split())),
    "bun": Rule(subcommands=frozenset({"outdated"})),
    "uv": Rule(("--python",), subcommands=frozenset({"tree", "version"})),
    "pip": Rule(
        ("--python",),
        ("--log",),
        subcommands=frozenset({"list", "show", "freeze", "check"}),
        before=re.compile("--version"),
    ),
    "cargo": Rule(
        ("--config", "--manifest-path", "-C"),
        ("--target-dir", "--artifact-dir", "--out-dir"),
        subcommands=frozenset(["build", "check", "test", "bench", "clippy", "fmt", "doc", "tree", "metadata"]),
    ),
    "go": Rule(
        ("-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-ldflags"),
        (
            *("-outputdir", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile"),
            *("-trace", "-pkgdir"),
        ),
        # Options of go have one dash and several letters.
        words=re.compile("--?[oC](?:=.*)?", re.DOTALL),
        subcommands=frozenset(["build", "test", "vet", "list", "doc", "version"]),
    ),
    "printf": Rule(("-v",)),
    "mapfile": Rule(("-C",)),
    "readarray": Rule(("-C",)),
    "wait": Rule(("-p",)),
    "jobs": Rule(("-x",)),
}
"""By the name of the program, or of the program and its subcommand."""

NAMES_VARIABLES = frozenset(
    (
        *("printf", "test", "[", "read", "mapfile", "readarray", "getopts", "wait", "let", "unset"),
        *("export", "declare", "typeset", "local", "readonly"),
    )
)
"""Commands of the shell whose arguments may be names of variables. In a subscript, as in `a[$(id)]`, a shell runs
commands, even if the argument is quoted."""

_SUBSCRIPT = re.compile(r"\w\s*\[")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")

BUNDLED = frozenset({"tar"})
"""Programs whose first argument is a group of short options even without a dash."""

_EXTENSION = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)
_VERSION = re.compile(r"-?[0-9]+(?:\.[0-9]+)*$")


def program_name(path: str) -> str:
    """Return the name by which the tables know a program: without its folder, version and Windows extension."""
    name = path.replace("\\", "/").rpartition("/")[2]
    stem = _EXTENSION.sub("", name.lower()) if _EXTENSION.search(name) else name
    unversioned = _VERSION.sub("", stem)
    return unversioned if unversioned in POWERFUL or unversioned in RULES else stem


def is_assignment(text: str) -> bool:
    return _ASSIGNMENT.match(text) is not None


def is_refused(word: str, rule: Rule) -> bool:
    """Return whether an argument is one of those that a rule lists, in any of the forms in which it is written."""
    name = word.partition("=")[0]
    if rule.words.fullmatch(word):
        return True
    return any(_is_form_of(word, name, entry) for entry in (*rule.runs, *rule.writes))


def has_subscript(word: str) -> bool:
    return _SUBSCRIPT.search(word) is not None


def _is_form_of(word: str, name: str, entry: str) -> bool:
    if entry.startswith("--"):
        return len(name) > len("--") and entry.startswith(name)
    if entry.startswith("-") and len(entry) == len("-x"):
        return word.startswith("-") and not word.startswith("--") and entry[1] in name
    return name in (entry, f"-{entry}") if entry.startswith("-") else word == entry


DELETES = "deletes files"
FORCES = "overrides a protection"
DATABASE = "deletes data of a database"

_MAX_DEPTH, _MAX_INNER = 4, 3
"""How deep, and at how many places, a command is looked for in the arguments of another."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_AS_OTHERS = frozenset({"sudo", "doas"})
_SEARCH = frozenset({"find", "fd"})
_EACH = _SEARCH | {"xargs", "parallel"}
"""Programs that run a command for many files."""

_TAKE_LINES = frozenset({"eval", "trap", "watch", "ssh", "su", "runuser", "script", "flock", "parallel"})
"""Programs that have a whole line as an argument interpreted by a shell."""

_WRAPPERS = frozenset(
    (
        *("env", "nice", "nohup", "timeout", "time", "stdbuf", "setsid", "ionice", "command", "builtin", "exec"),
        *("strace", "busybox", "chroot", "systemd-run", "npx", "docker", "podman", "kubectl"),
        *(*_AS_OTHERS, *_EACH, *_TAKE_LINES),
    )
)
"""Programs that run a command which they are given among their arguments."""

_ERASERS = frozenset({"wipefs", "shred", "blkdiscard"})
_KNOWN = frozenset({"rm", "git", "dd", *_SHELLS, *_WRAPPERS, *_ERASERS})
_ONLY_SHOWS = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "git", "cat", "man", "which"})
"""Programs for which a statement of SQL is only a text."""

_FORCED_BELOW = _ONLY_SHOWS | (_WRAPPERS - {"docker", "podman", "kubectl"}) | {"rm"}
"""Programs whose `--force` is a text, belongs to a command that they run, or has a reason of its own."""

_COMMAND_OPTION = re.compile("-[a-z]*c")
_SQL = re.compile(r"\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\b", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?!null\Z|stdout\Z|stderr\Z|tty\Z|fd/)")
_CUTS = re.compile(r"[;&|\n(){}`]|\$\(|<<\S*|\b(?:do|then|else|if|elif|while|until|in)\s|!\s")
_REDIRECTED = re.compile(r">>?\|?\s*(\S+)")
_QUOTES = str.maketrans("", "", "'\"\\")


def danger(line: str) -> str:
    return ", ".join(dict.fromkeys(_reasons(line, 0)))


def caution(line: str) -> str:
    """Return what a person is told before they permit a command; empty if it is not dangerous."""
    reason = danger(line)
    return f"Careful: it {reason}." if reason else ""


def _reasons(line: str, depth: int) -> Iterator[str]:
    parts = split_line(line)
    if parts is None:
        cuts = [[word.translate(_QUOTES) for word in cut.split()] for cut in _CUTS.split(line)]
        targets = [target.translate(_QUOTES) for target in _REDIRECTED.findall(line)]
    else:
        cuts = [[word.value for word in part.words] for part in parts if isinstance(part, Command)]
        targets = [part.target.value for part in parts if isinstance(part, Redirection) and part.sign == ">"]
    commands = [words for cut in cuts if (words := [*dropwhile(is_assignment, cut)])]
    if any(map(_DEVICE.match, targets)):
        yield "writes to a device"
    is_piped = any(map(_reads_commands, commands))
    for words in commands:
        yield from _of_command(words, depth)
        if is_piped and program_name(words[0]) in ("echo", "printf"):
            for text in words[1:]:
                yield from _reasons(text, depth + 1) if depth < _MAX_DEPTH else ()
    if _SQL.search(line) and any(program_name(words[0]) not in _ONLY_SHOWS for words in commands):
        yield DATABASE


def _reads_commands(words: Sequence[str]) -> bool:
    """Return whether a shell reads its commands from its input, which another command of the line may write."""
    return program_name(words[0]) in _SHELLS and all(word.startswith(("-", "+")) for word in words[1:])


def _of_command(words: Sequence[str], depth: int, *, many: bool = False) -> Iterator[str]:
    """The dangers of a simple command. `many` means that it is run for many files, or given their names."""
    name, arguments = program_name(words[0]), words[1:]
    yield from _own(name, arguments, many=many)
    if depth == _MAX_DEPTH:
        return
    if name in _SHELLS and any(_COMMAND_OPTION.fullmatch(word) for word in arguments):
        for script in islice((word for word in arguments if not word.startswith("-")), 1):
            yield from _reasons(script, depth + 1)
    elif name in _WRAPPERS:
        yield from _inner(name, arguments, depth + 1)


def _inner(name: str, arguments: Sequence[str], depth: int) -> Iterator[str]:
    """The dangers of the command among the arguments of a program: wherever a program that is known begins one."""
    if name in _SEARCH:
        starts = (at for at, word in enumerate(arguments) if is_refused(word, Rule(RULES[name].runs)))
        arguments = arguments[next(starts, len(arguments)) :]
    if name in _TAKE_LINES:
        for line in islice((word for word in arguments if " " in word), _MAX_INNER):
            yield from _reasons(line, depth)
    names = map(program_name, arguments)
    known = (at for at, word in enumerate(names) if word in _KNOWN or word.startswith("mkfs"))
    for at in islice(known, _MAX_INNER):
        yield from _of_command(arguments[at:], depth, many=name in _EACH)


def _own(name: str, arguments: Sequence[str], *, many: bool) -> Iterator[str]:
    if name in _AS_OTHERS:
        yield "runs as another user"
    if name == "rm" and (many or _has(arguments, "rRf", "--recursive", "--force")):
        yield DELETES
    if name == "find" and "-delete" in arguments:
        yield DELETES
    if name == "dd" and any(word.startswith("of=") and word != "of=/dev/null" for word in arguments):
        yield "overwrites a file or a device"
    if name in _ERASERS or name.startswith("mkfs"):
        yield "erases a file or a disk"
    if name == "git":
        yield from _of_git(arguments)
    elif "--force" in arguments and name not in _FORCED_BELOW:
        yield FORCES


def _of_git(arguments: Sequence[str]) -> Iterator[str]:
    if "push" in arguments and (
        _has(arguments, "f", "--force", "--force-with-lease", "--mirror")
        or any(word.startswith("+") for word in arguments)
    ):
        yield "rewrites the history of a repository"
    elif "reset" in arguments and "--hard" in arguments:
        yield "discards changes that are not committed"
    elif "clean" in arguments and _has(arguments, "fxdX", "--force"):
        yield "deletes files that git does not track"
    elif "--force" in arguments:
        yield FORCES


def _has(arguments: Sequence[str], letters: str, *options: str) -> bool:
    """Return whether one of these letters is in a group of short options, or one of these options is given."""
    short = (word for word in arguments if word.startswith("-") and not word.startswith("--"))
    named = {word.partition("=")[0] for word in arguments}
    return any(set(letters) & set(word) for word in short) or not named.isdisjoint(options)


def told(source: str, pattern: str) -> str:
    """Return what to tell a person about a pattern, which `source` has given; empty if it is what it looks like."""
    more = reach(pattern)
    return f"{source} {shlex.quote(pattern)} allows more than it looks like: {more}" if more else ""


def reach(pattern: str) -> str:
    """Return what a pattern allows beyond what it looks like; empty if nothing is known."""
    if pattern.strip() == "*":
        return "it allows every command"
    parts = split_line(pattern)
    if parts is None or len(parts) != 1 or not isinstance(parts[0], Command):
        return ""
    words = [word for word in parts[0].words if not is_assignment(word.text)]
    if not any(word.kind is WordKind.GLOB for word in words):
        return ""
    program, *arguments = words
    if program.kind is not WordKind.LITERAL:
        return "it allows every program whose name fits"
    name = program_name(program.value)
    operand = next((word.value for word in arguments if word.kind is WordKind.LITERAL and word.value[:1] != "-"), "")
    return _power(name, operand)


def _power(name: str, operand: str) -> str:
    if name in POWERFUL:
        return f"{name} {POWERFUL[name]}"
    if name in RUNS_PROJECT_CODE:
        return f"{name} runs code of the project"
    rule = RULES.get(name)
    if rule is None:
        return ""
    if rule.subcommands and operand:
        name = f"{name} {operand}"
        if name not in RULES:
            return "" if operand in rule.subcommands else f"{name} may run other programs"
        rule = RULES[name]
    if rule.script is not None:
        return f"{name} runs any code that it is given"
    if rule.runs:
        return f"{name} runs other programs with {rule.runs[0]}"
    if rule.subcommands:
        return f"{name} may run other programs"
    return f"{name} writes other files{f' with {rule.writes[0]}' if rule.writes else ''}"
