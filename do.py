#!/usr/bin/env python3
"""Set up this checkout and run its tasks: `python3 do.py VERB`, with Python 3.11 or newer and nothing else.

The environment `.venv/` has two levels. `demo` needs the program only and installs what `requirements-demo.lock` pins,
a few megabytes. Every other verb completes it with the tools that `requirements.lock` pins. `uv` installs the packages
if it is on PATH; otherwise `venv` and pip do.

A stamp in `.venv/` states what a finished installation was made from, so later calls start at once. The stamp is
removed before an installation and written after it: an environment without one was interrupted, and is made again from
nothing. A file lock next to `.venv/` makes a second call wait until the first has finished; the operating system
releases it when its owner dies.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / os.environ.get("TILDONE_VENV", ".venv")
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
EXE = ".exe" if os.name == "nt" else ""
PYTHON = BIN / f"python{EXE}"
LOCKS = {"demo": ROOT / "requirements-demo.lock", "dev": ROOT / "requirements.lock"}
"""What each level of the environment is made from; the second contains the first."""

PINNED = ("--require-hashes", "--no-deps")
"""The options for a lock file, which is complete. If the pip of Python 3.11 resolved dependencies, it would choose the
newest release of a package that another one requires with an extra, and fail because that release has no hash."""

STAMP = VENV / "tildone-setup.json"

OLDEST = (3, 11)
NEWEST = (3, 13)
"""The Python releases that pyproject.toml claims; CI runs the tests on both ends of the range."""

INSTALL_LIMIT = 30 * 60
STEP_LIMIT = 2 * 60 * 60
"""In seconds. pyproject.toml limits each test; these limit what hangs outside of a test."""

GRACE_SECONDS = 10
"""How long the processes of a step may take to end after it, before they are killed."""

PURE = ("plan", "log", "run/kit")
"""The folders of `src/tildone` that touch nothing outside."""
COVERING = (
    *(
        f"tests/{folder}"
        for folder in ("core", "kit", "log", "loop", "views", "history", "formats", "dialects", "commands")
    ),
    *("tests/session", "tests/conformance", "tests/stores/test_copying.py", "tests/stores/test_lease*.py"),
    "tests/stores/test_runs.py",
)
"""The tests that have to cover every line and branch of the pure folders. Measuring that doubles their time."""


class Stop(Exception):
    """A condition that the person must correct first, as one sentence."""


def main(argv: list[str]) -> int:
    if sys.version_info < OLDEST:
        print(f"do.py needs Python 3.11 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    parser = argument_parser()
    takes_options = argv[:1] in [[verb] for verb in TAKE_OPTIONS]
    asked = parser.parse_args(argv[:1] if takes_options else argv)
    if asked.verb is None:
        parser.print_help()
        return 0
    if asked.names and asked.verb not in TAKE_NAMES:
        parser.error(f"{asked.verb} takes no names")
    try:
        return VERBS[asked.verb](*(argv[1:] if takes_options else asked.names))
    except Stop as stop:
        print(f"do.py: {stop}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def argument_parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:{width}}  {(verb.__doc__ or '').partition(chr(10))[0]}" for name, verb in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="do.py",
        description="Set up this checkout and run its tasks.",
        epilog=f"verbs:\n{verbs}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", nargs="?", choices=list(VERBS), metavar="VERB", help="what to do")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"for {', '.join(f'`{verb}`' for verb in TAKE_NAMES)}: which of them"
    )
    return parser


def setup() -> int:
    """Create .venv and install what requirements.lock pins; a second call does nothing."""
    return prepare("dev")


def prepare(level: str) -> int:
    """Make the environment, or complete it, unless it has this level or a higher one."""
    if VENV.is_symlink():
        raise Stop(
            f"{VENV} is a link to {VENV.resolve()}: setting it up would change that environment. Remove the link."
        )
    if is_ready(level):
        return 0
    try:
        with only_one_at_a_time():
            if not is_ready(level):
                make(level)
    except OSError as error:
        raise Stop(f"cannot write the environment {VENV}: {error}\nRemove it, or call do.py as its owner.") from None
    return 0


def is_ready(level: str) -> bool:
    levels = list(LOCKS)
    enough = levels[levels.index(level) :]
    return PYTHON.exists() and stamped() in [fingerprint(each) for each in enough]


def make(level: str) -> None:
    before = stamped()
    keep = before is not None and same_place(before) and made_for_this_python()
    STAMP.unlink(missing_ok=True)
    started = time.monotonic()
    uv = shutil.which("uv")
    expect = {"demo": "a few seconds", "dev": "a minute or so"}[level]
    say(f"setting up .venv with {'uv' if uv else 'venv and pip'} ({expect} the first time)")
    try:
        if uv:
            install_with_uv(uv, LOCKS[level], keep=keep)
        else:
            install_with_pip(LOCKS[level], keep=keep)
        make_link_ascii()
    except Stop:
        if keep and before:
            # The installer failed by itself, so what was there before is still there.
            STAMP.write_text(before, encoding="utf-8")
        raise
    STAMP.write_text(fingerprint(level), encoding="utf-8")
    say(f".venv is ready ({time.monotonic() - started:.0f} s)")


def stamped() -> str | None:
    return STAMP.read_text(encoding="utf-8") if STAMP.exists() else None


def same_place(stamp: str) -> bool:
    """Return whether an environment was made in this folder: its programs contain its path."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return bool(json.loads(stamp)["root"] == str(ROOT))
    return False


def fingerprint(level: str) -> str:
    """Describe what the environment is made from; if this changes, the environment is brought up to date."""
    import tomllib  # noqa: PLC0415 -- absent before Python 3.11, where `main` must still print its message

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    facts = {
        "level": level,
        "lock": hashlib.sha256(LOCKS[level].read_bytes()).hexdigest(),
        "project": {table: project.get(table) for table in ("build-system", "project", "dependency-groups")},
        "python": list(sys.version_info[:2]),
        "root": str(ROOT),
    }
    return json.dumps(facts, indent=1, sort_keys=True)


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Hold the lock of the environment; say so if another call has it."""
    VENV.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{VENV}.lock").open("ab") as file:
        if not take(file.fileno(), wait=False):
            say("another do.py is setting up .venv: waiting for it")
            take(file.fileno(), wait=True)
        yield


def take(file: int, *, wait: bool) -> bool:
    """Lock a file until it is closed."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 -- exists on Windows only

        while True:
            try:
                msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                # LK_LOCK gives up after ten seconds.
                if not wait:
                    return False
            else:
                return True
    import fcntl  # noqa: PLC0415 -- does not exist on Windows

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def install_with_uv(uv: str, lock: Path, *, keep: bool) -> None:
    if not keep:
        quietly([uv, "venv", "--clear", "--python", sys.executable, str(VENV)])
    pip = [uv, "pip", "install", "--python", str(PYTHON)]
    quietly([*pip, *PINNED, "--requirements", str(lock)])
    quietly([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])


def install_with_pip(lock: Path, *, keep: bool) -> None:
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Stop(
                f"this Python has no {module} module; on Debian and Ubuntu install the package python3-venv, "
                "or put uv on PATH"
            )
    if not keep:
        quietly([sys.executable, "-m", "venv", "--clear", str(VENV)])
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    quietly([*pip, *PINNED, "--requirement", str(lock)])
    quietly([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])


def make_link_ascii() -> None:
    """Name the source folder relative to the environment if its path is not ASCII.

    Before Python 3.13, the interpreter decodes this file in the locale's encoding, and does not start if that fails.
    """
    for link in (*VENV.glob("lib/python*/site-packages/_tildone.pth"), *VENV.glob("Lib/site-packages/_tildone.pth")):
        if not link.read_text(encoding="utf-8").isascii():
            link.write_text(os.path.relpath(ROOT / "src", link.parent) + "\n", encoding="utf-8")


def made_for_this_python() -> bool:
    """Return whether .venv exists and has the same Python release series as this script."""
    return PYTHON.exists() and release_series(str(PYTHON)) == sys.version_info[:2]


def quietly(command: list[str]) -> None:
    """Run a step of the set-up; show its output only if it fails."""
    failed = f"could not run {shlex.join(command)}"
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Stop(f"{failed}\nIt did not finish within {INSTALL_LIMIT // 60} minutes.") from None
    if done.returncode:
        print(done.stdout.decode(errors="replace"), file=sys.stderr, end="")
        raise Stop(f"{failed}\nIf a package could not be fetched: is the network reachable?")


def check() -> int:
    """Check format, lint and types of Python and JavaScript, and import contracts."""
    setup()
    return run_all(checks())


def checks() -> list[tuple[str, list[str]]]:
    return [
        ("format", [tool("ruff"), "format", "--check"]),
        ("lint", [tool("ruff"), "check"]),
        ("types", [tool("mypy")]),
        ("import contracts", [tool("lint-imports"), "--no-logo"]),
        ("JavaScript format", [tool("deno"), "fmt", "--check"]),
        ("JavaScript lint", [tool("deno"), "lint"]),
        ("JavaScript types", [tool("deno"), "check", "--quiet", "src/tildone/screens/board/static"]),
    ]


SHARDS = {
    "agents": ("tests/clients",),
    "browser": ("tests/web", "tests/pictures"),
    "fleet": ("tests/fleet", "tests/cli/fleet"),
    "faults": ("tests/faults", "tests/hooks", "tests/integrations"),
    "stores": ("tests/stores",),
    "host": ("tests/run", "tests/rpc", "tests/host", "tests/tui", "tests/walks", "tests/telemetry"),
    "project": ("tests/project", "tests/bench", "tests/bare_debian"),
    "rest": ("tests",),
}
"""The parts of `test all`: folders of tests. The last has what is in none of the others, nor in `coverage`."""

SAME_ON_EVERY_PYTHON = ("tests/bare_debian", "tests/bench", "tests/project", "tests/clients")


def test(*words: str) -> int:
    """Run the checks and prove each capability once; `test all [SHARD…]` runs every test, or those of a shard."""
    if words:
        return test_all(*words)
    setup()
    once = ["-m", "not slow", "--hypothesis-profile=few", "--costs"]
    if os.environ.get("CI"):
        # A person does not wait for more than a gigabyte of clients, a package of the whole machine, and coverage.
        elsewhere = [f"--ignore={path}" for path in covering()]
        steps = [installing_clients(), installing_browser(), measuring(once), ("tests", [*pytest(), *once, *elsewhere])]
    else:
        steps = [("tests", [*pytest(), *once])]
    more_vectors = os.environ.get("TILDONE_CONFORMANCE")
    if more_vectors:
        replay = [str(PYTHON), "-m", "tests.conformance", more_vectors]
        steps.append(("conformance", replay))
    return run_all(steps, beside=("checks", [sys.executable, str(ROOT / "do.py"), "check"]))


def covering() -> list[str]:
    return [str(path.relative_to(ROOT)) for pattern in COVERING for path in sorted(ROOT.glob(pattern))]


def measuring(options: Sequence[str] = ()) -> tuple[str, list[str]]:
    measured = (f"--cov=src/tildone/{folder}" for folder in PURE)
    gate = ("--cov-fail-under=100", "--cov-report=term-missing:skip-covered")
    return "coverage of the pure packages", [*pytest(), *options, *measured, *gate, *covering()]


def test_all(*words: str) -> int:
    known = ["coverage", *SHARDS, "pythons"]
    if words[0] != "all" or not set(words[1:]) <= set(known):
        raise Stop(f"`test` takes nothing, or: all [SHARD…], with these shards: {', '.join(known)}")
    setup()
    steps = []
    for shard in words[1:] or known:
        if shard == "pythons":
            steps += on_other_pythons("portable")
        elif shard == "coverage":
            steps.append(measuring())
        else:
            elsewhere = [*covering(), *(path for other in SHARDS if other != shard for path in SHARDS[other])]
            ignored = [f"--ignore={path}" for path in elsewhere] if shard == "rest" else []
            steps += [installing_clients()] if shard == "agents" else []
            steps.append((shard, [*pytest(), *SHARDS[shard], *ignored]))
    return run_all(steps)


def portable() -> int:
    """Run the tests of `test` whose result may depend on the Python release, without measuring coverage."""
    setup()
    left_out = [f"--ignore={folder}" for folder in SAME_ON_EVERY_PYTHON]
    return run_all([("portable tests", [*pytest(), "-m", "not slow", "--hypothesis-profile=few", *left_out])])


def pytest() -> list[str]:
    # More workers than there are cores: many tests wait for a process, a server or a clock.
    return [str(PYTHON), "-m", "pytest", "--dist=worksteal", "-n", str((os.cpu_count() or 1) + 2)]


IN_OWN_VENV = """
import os, sys
os.environ.update(TILDONE_VENV=sys.argv[1], CI="")
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def on_other_pythons(verb: str) -> list[tuple[str, list[str]]]:
    """Return the steps that run a verb on the oldest and newest Python, other than the one that runs this script.

    Each has its own environment below .venv/. A release that is not installed is skipped, and the output says so.
    """
    steps = []
    for series in (OLDEST, NEWEST):
        name = ".".join(map(str, series))
        python = None if sys.version_info[:2] == series else find_python(series)
        if python is not None:
            command = [python, "-c", IN_OWN_VENV, f".venv/python{name}", str(ROOT / "do.py"), verb]
            steps.append((f"{verb} on Python {name}", command))
        elif sys.version_info[:2] != series:
            say(f"Python {name} is not installed: its tests are skipped")
    return steps


def find_python(series: tuple[int, int]) -> str | None:
    """Return a Python of that release series: from PATH, from pyenv, or from uv."""
    name = ".".join(map(str, series))
    candidates = [f"python{name}", *pythons_of_pyenv(name)]
    uv = shutil.which("uv")
    if uv:
        found = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", name], capture_output=True, text=True, check=False
        )
        candidates += found.stdout.split("\n")[:1]
    for candidate in filter(None, candidates):
        path = shutil.which(candidate)
        if path and release_series(path) == series:
            return path
    return None


def pythons_of_pyenv(name: str) -> list[str]:
    """Return the Pythons of a release series that pyenv installed; none if its folder cannot be read."""
    root = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    # The environment may come from another user: `su` keeps it.
    with contextlib.suppress(OSError):
        return [str(path) for path in sorted((root / "versions").glob(f"{name}*/bin/python"), reverse=True)]
    return []


def release_series(python: str) -> tuple[int, ...]:
    """Return the release series of a Python, such as (3, 11); empty if it does not run."""
    show = "import sys; print(*sys.version_info[:2])"
    answer = subprocess.run([python, "-c", show], capture_output=True, text=True, check=False)
    return tuple(int(part) for part in answer.stdout.split()) if answer.returncode == 0 else ()


def clients(*names: str) -> int:
    """Install the coding agents that tests run, or those named, into .clients (needs npm)."""
    setup()
    return run_all([installing_clients(*names)])


def installing_clients(*names: str) -> tuple[str, list[str]]:
    return "clients", [str(PYTHON), "-m", "tests.clients.install", *names]


def installing_browser() -> tuple[str, list[str]]:
    return "browser", [str(PYTHON), "-m", "tests.web.browser.install"]


def table(*names: str) -> int:
    """Run all situations in the coding agents, or in those named, and rewrite docs/reference/integrations.md."""
    setup()
    run = [str(PYTHON), "-m", "tests.clients.integrations_page", *names]
    return run_all([installing_clients(*names), ("table", run)])


def prove(*rows: str) -> int:
    """Run `demo` and `test` in a bare Debian root under various conditions (needs root and debootstrap)."""
    return subprocess.run([sys.executable, "-m", "tests.bare_debian.prove", *rows], cwd=ROOT, check=False).returncode


def runs(module: str, doc: str, *first: str) -> Callable[..., int]:
    """Return a verb that runs a module of this checkout with the words it is given."""

    def verb(*words: str) -> int:
        setup()
        return run_all([(module.rpartition(".")[2], [str(PYTHON), "-m", module, *first, *words])])

    verb.__doc__ = doc
    return verb


def fmt() -> int:
    """Format the code and apply the safe lint fixes."""
    setup()
    steps = [("lint fixes", [tool("ruff"), "check", "--fix"]), ("format", [tool("ruff"), "format"])]
    return run_all([*steps, ("JavaScript format", [tool("deno"), "fmt"])])


def lock() -> int:
    """Resolve the dependencies again and rewrite both lock files (needs uv)."""
    uv = shutil.which("uv")
    if uv is None:
        raise Stop("`lock` needs uv on PATH")
    # uv.lock names the package registry it was made from, so only its exports are kept.
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, scratch)
        # The version of the project, which uv asks for, is in a file of its own.
        version = Path("src", "tildone", "version.py")
        (Path(scratch) / version).parent.mkdir(parents=True)
        shutil.copy(ROOT / version, Path(scratch) / version)
        export = [uv, "export", "--no-header", "--no-annotate", "--no-emit-project", "--project", scratch]
        parts = {"demo": ["--no-default-groups", "--group", "build"], "dev": ["--all-groups", "--all-extras"]}
        for level, part in parts.items():
            quietly([*export, *part, "--output-file", str(LOCKS[level])])
            say(f"{LOCKS[level].name} is rewritten")
    return 0


DEMO = (
    ("run", "examples/hello.md", "--allow", "*", "--session", "hello"),
    ("todo", "--session", "hello"),
    ("log", "--session", "hello"),
)


def demo() -> int:
    """Run the example plan in a temporary folder and store, show its log, and say where tildone is."""
    prepare("demo")
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "examples", Path(scratch, "examples"))
        kept = {"TILDONE_STORE": "demo.db", "TILDONE_SESSION_DIR": "conversations"}
        for words in DEMO:
            print("$", shlex.join(("tildone", *words)), flush=True)
            env = {**os.environ, **{name: str(Path(scratch, path)) for name, path in kept.items()}}
            status = subprocess.run([tool("tildone"), *words], cwd=scratch, env=env, check=False).returncode
            if status:
                return status
            print(flush=True)
    print("\n".join(what_next(shutil.which("tildone"))))
    return 0


def what_next(on_path: str | None) -> list[str]:
    """Say where tildone is, how to type it without its folder, and what to type first."""
    lines = [f"tildone is {tool('tildone')}"]
    if on_path is None or not Path(on_path).samefile(tool("tildone")):
        set_path = f'$env:Path = "{BIN};$env:Path"' if os.name == "nt" else f"export PATH={shlex.quote(str(BIN))}:$PATH"
        lines += ["To find it on PATH, in this shell:", f"  {set_path}"]
    return [
        *lines,
        "Then, in the folder of a project:",
        '  tildone todo add "Write the tests" "Publish the release"',
        "  tildone          shows the plan and the next commands",
        "  tildone --help   lists all commands",
    ]


def run_all(steps: list[tuple[str, list[str]]], beside: tuple[str, list[str]] | None = None) -> int:
    """Run every step, even after a failure; say at the end how long each took and which failed.

    `beside` is run at the same time as the first step. Its output is printed after that of the step.
    """
    # Without compiled modules, collecting the tests takes twice as long, in each worker.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # deno would keep its cache in the home folder, and look for a newer release.
    environment |= {"DENO_DIR": str(VENV / "deno"), "DENO_NO_UPDATE_CHECK": "1"}
    failed, took = [], []
    for group in [[steps[0], *([beside] if beside else [])], *([step] for step in steps[1:])]:
        names = [name for name, _ in group]
        say(", beside it ".join(names))
        began, used = time.monotonic(), cpu_seconds()
        try:
            statuses = run_contained([command for _, command in group], environment)
        except TimeoutError:
            say(f"{' and '.join(names)} did not finish within {STEP_LIMIT // 3600} hours and was stopped")
            statuses = [1] * len(group)
        failed += [name for name, status in zip(names, statuses, strict=True) if status]
        took.append(f"{' and '.join(names)} {time.monotonic() - began:.0f} s ({cpu_seconds() - used:.0f} CPU s)")
    if len(took) > 1 or failed:
        say(f"took: {', '.join(took)}")
    if failed:
        say(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def cpu_seconds() -> float:
    used = os.times()
    return used.children_user + used.children_system


def run_contained(commands: list[list[str]], environment: dict[str, str]) -> list[int]:
    """Run a step with a temporary folder of its own. End what it leaves behind, and count that as a failure.

    The commands run at the same time; the output of the first is seen at once, that of the others at the end. On Linux,
    this process adopts the processes whose parents end, so none escapes. After an interruption (SIGINT, SIGTERM) or the
    time limit, the step is asked to end, and some seconds later all its processes are killed.
    """
    adopts = adopt_orphans()
    folder = tempfile.mkdtemp(prefix="tildone-")
    # Everybody may enter it, as the usual one: tests make files in it that others could read.
    os.chmod(folder, 0o755)  # noqa: S103  see above
    environment = {**environment, "TMPDIR": folder}
    with contextlib.ExitStack() as open_files:
        outputs = [open_files.enter_context(tempfile.TemporaryFile()) for _ in commands[1:]]
        processes: list[subprocess.Popen[bytes]] = []
        former = signal.signal(signal.SIGTERM, terminated)
        ended = False
        try:
            # An interruption may come as soon as a process runs, before it is known here.
            for command, output in zip(commands, [None, *outputs], strict=True):
                errors = None if output is None else subprocess.STDOUT
                processes.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=errors))
            wait_for(processes, STEP_LIMIT)
            ended = True
        except KeyboardInterrupt:
            # Ctrl-C at a terminal has reached the step, too. It may print what it has so far.
            with contextlib.suppress(TimeoutError):
                wait_for(processes, GRACE_SECONDS)
            raise
        finally:
            signal.signal(signal.SIGTERM, former)
            if not ended:
                for process in processes:
                    process.send_signal(signal.SIGINT)
                with contextlib.suppress(TimeoutError, KeyboardInterrupt):
                    wait_for(processes, GRACE_SECONDS)
            left = end_descendants(GRACE_SECONDS if ended else 0) if adopts else []
            for process in processes:
                process.kill()
                process.wait()
            for output in outputs:
                output.seek(0)
                print(output.read().decode(errors="replace"), end="", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    for line in left:
        say(f"left running, and killed now: {line}")
    return [process.returncode or (1 if left else 0) for process in processes]


def terminated(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def wait_for(processes: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Wait until all processes have ended, and reap the orphans that end meanwhile."""
    deadline = time.monotonic() + seconds
    left = {process.pid: process for process in processes if process.returncode is None}
    while left and time.monotonic() < deadline:
        if os.name == "nt":
            ended = next((pid for pid, process in left.items() if process.poll() is not None), None)
        else:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            ended = found and found.si_pid
        if ended is None:
            time.sleep(0.02)
        elif ended in left:
            left.pop(ended).wait()
        else:
            os.waitpid(ended, 0)
    if left:
        raise TimeoutError


def adopt_orphans() -> bool:
    """Make this process the parent of all descendants whose own parents end, if the system can do that."""
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415 -- only here, and absent from some small Pythons

    set_child_subreaper = 36
    return bool(ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) == 0)


def end_descendants(patience: float) -> list[str]:
    """Wait until this process has no descendants, then kill those that are left. Return their command lines."""
    deadline = time.monotonic() + patience
    while (left := descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    lines = [f"{pid} {line}" for pid, line in left.items()]
    while left:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        left = descendants()
    return lines


def descendants() -> dict[int, str]:
    """Return the living descendants of this process with their command lines. The dead ones are reaped."""
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(folder.name)] = int(parent)
                lines[int(folder.name)] = (folder / "cmdline").read_text(errors="replace").replace("\0", " ")[:200]
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    # After the look, so that none that had ended by then is left.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return {pid: lines[pid] for pid in found - {os.getpid()}}


def tool(name: str) -> str:
    return str(BIN / f"{name}{EXE}")


def say(line: str) -> None:
    print(f"== {line}", flush=True)


VERBS: dict[str, Callable[..., int]] = {
    "setup": setup,
    "check": check,
    "test": test,
    "portable": portable,
    "clients": clients,
    "table": table,
    "newest": runs(
        "tests.clients.newest",
        "Try the newest versions of the coding agents, or of those named, and say what changed.",
    ),
    "drill": runs(
        "tests.integrations.drill",
        "Run 1,000 random sequences of changes to the settings files of the coding agents, or of those named.",
        "--sequences",
        "1000",
    ),
    "prove": prove,
    "faults": runs(
        "tests.faults",
        "Kill, damage, fuzz and outwit tildone for up to an hour and count failures; `short` takes less than a minute.",
    ),
    "drills": runs(
        "tests.fleet.drills",
        "Kill, stop and cut off the workers of a fleet, 20 times each, and count lost tasks; `many`: 100 plans.",
    ),
    "breaks": runs(
        "tests.suite.breaks",
        "Break 200 lines of the source at random and print those that no test notices.",
    ),
    "fmt": fmt,
    "demo": demo,
    "docs": runs(
        "tests.project.rewrite_docs",
        "Regenerate the generated parts of the documentation: references, tables and console output.",
    ),
    "bench": runs("bench", "Run the benchmarks, or those that `--only` names."),
    "lock": lock,
}

TAKE_NAMES = ("test", "clients", "table", "newest", "drill", "prove", "faults", "drills", "breaks")
TAKE_OPTIONS = ("bench", "drills", "breaks")
"""The verbs that get all words after them as they are."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
