"""Run both commands of the README in a bare Debian root: `python3 do.py prove [demo|test] [ROW…]`.

The root contains Python with venv and nothing else: no git, npm, node, compiler, tmux, PostgreSQL, or locale. It is
made once, in /var/tmp, and kept. Each row of the table is a condition. It has a home and a copy of this checkout of its
own, which are removed afterwards, so nothing that one row downloads helps the next.

A row runs in a mount namespace and a process namespace of its own. The mounts, and every process that is left over,
end with it, even if this program is killed. The network is the host's: its name servers, certificates, pip settings and
proxy variables are taken along.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BASE = Path("/var/tmp/tildone-bare-debian")  # noqa: S108  kept between runs on purpose; only root may write to it
SUITE = "bookworm"
PACKAGES = "python3,python3-venv"
USER = 1000
LIMIT = 2 * 60 * 60
NEEDED = ("debootstrap", "unshare", "chroot")
COMMANDS = ("demo", "test")

NETWORK = re.compile(r"(PIP_|UV_|SSL_|REQUESTS_|NODE_EXTRA_CA_CERTS$|(https?|no|all)_proxy$)", re.IGNORECASE)
CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
LEFT_OUT = shutil.ignore_patterns(".venv", ".venv.lock", ".clients", "__pycache__", ".*_cache", ".hypothesis", "*.db")

INSIDE = """
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
chroot "$@"
"""
"""The shell stays: it is process 1 of its namespace and has to reap what the tests leave over."""

IN_CHECKOUT = 'cd "$1" && exec python3 do.py "$2"'
IGNORING_CTRL_C = f"trap '' INT; {IN_CHECKOUT}"


class Stop(Exception):
    """A condition that the person must correct first, as one sentence."""


@dataclass(frozen=True, slots=True)
class Row:
    """One condition under which both commands must succeed."""

    title: str
    user: bool = True
    folder: str = "tildone"
    variables: Mapping[str, str] = field(default_factory=dict)
    has_home: bool = True
    writable_home: bool = True
    from_archive: bool = False
    ignores_ctrl_c: bool = False


ROWS = {
    "root": Row("as root", user=False),
    "user": Row("as an ordinary user"),
    "no-git": Row("no git, unpacked from an archive", from_archive=True),
    "spaces": Row("a path with spaces and ø", folder="nc prøject/tildone"),
    "lang-c": Row("LANG=C", variables={"LANG": "C"}),
    "home-unset": Row("HOME is not set", has_home=False),
    "home-unwritable": Row("HOME cannot be written", writable_home=False),
    "sigint": Row("SIGINT is ignored", ignores_ctrl_c=True),
    "together": Row(
        "all of the user's conditions together",
        folder="nc prøject/tildone",
        variables={"LANG": "C"},
        writable_home=False,
        from_archive=True,
        ignores_ctrl_c=True,
    ),
}
GROUPS = {"short": ("root", "together")}


@dataclass(frozen=True, slots=True)
class Result:
    """What one command did: its exit status, seconds, and the count of tests for `test`."""

    status: int
    seconds: float
    counts: str = ""

    @property
    def cell(self) -> str:
        verdict = "ok" if self.status == 0 else f"FAILED ({self.status})"
        return ", ".join(filter(None, [verdict, self.counts, f"{self.seconds:.0f} s"]))


def main(words: list[str]) -> int:
    try:
        rows, commands = selection(words)
        check_host()
        root = bare_root()
        failed = 0
        print("Not installed in any row: git, npm, node, a compiler, tmux, PostgreSQL, a locale.", flush=True)
        print(line("condition", list(commands)), flush=True)
        for name in rows:
            results = prove(root, name, commands)
            print(line(ROWS[name].title, [result.cell for result in results]), flush=True)
            failed += any(result.status for result in results)
    except Stop as stop:
        print(f"prove: {stop}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 1 if failed else 0


def selection(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the rows and the commands that the words name; all of them if they name none."""
    known = (*COMMANDS, *GROUPS, *ROWS)
    for word in words:
        if word not in known:
            raise Stop(f"there is no row {word!r}; there are {', '.join(known)}")
    named = [row for word in words if word not in COMMANDS for row in GROUPS.get(word, (word,))]
    commands = tuple(command for command in COMMANDS if command in words)
    return list(dict.fromkeys(named)) or list(ROWS), commands or COMMANDS


def check_host() -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Stop("this needs Linux and root: it makes a Debian root and enters it")
    missing = [program for program in NEEDED if shutil.which(program, path=search_path()) is None]
    if missing:
        raise Stop(f"{' and '.join(missing)} not found; on Debian: apt-get install debootstrap util-linux coreutils")


def search_path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"


def bare_root() -> Path:
    """Return the Debian root, and make it first if it is not there."""
    root = BASE / SUITE
    if root.is_dir():
        return root
    started = time.monotonic()
    print(f"making a bare Debian {SUITE} in {root} (about a minute)", flush=True)
    BASE.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = BASE / f"{SUITE}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(unfinished)]
    with (BASE / "debootstrap.log").open("wb") as log:
        status = limited(command, dict(os.environ) | {"PATH": search_path()}, log.fileno())
    if status:
        raise Stop(f"debootstrap failed ({status}); its output is in {BASE / 'debootstrap.log'}")
    with (unfinished / "etc" / "passwd").open("a") as accounts:
        accounts.write(f"newcomer:x:{USER}:{USER}::/home/newcomer:/bin/sh\n")
    unfinished.rename(root)
    print(f"the root is ready ({time.monotonic() - started:.0f} s)", flush=True)
    return root


def prove(root: Path, name: str, commands: tuple[str, ...]) -> list[Result]:
    """Run the commands of one row, until one fails."""
    row = ROWS[name]
    results: list[Result] = []
    take_network_along(root)
    with folders(root, row) as (home, checkout):
        for command in commands:
            log = BASE / f"{name}-{command}.log"
            results.append(run(root, row, log, home, checkout, command))
            if results[-1].status:
                print(f"{name} {command}: the output is in {log}", file=sys.stderr, flush=True)
                break
    return results


def run(root: Path, row: Row, log: Path, home: Path, checkout: Path, command: str) -> Result:
    inside = Path("/", checkout.relative_to(root))
    variables = environment(os.environ, row, Path("/", home.relative_to(root)))
    started = time.monotonic()
    with log.open("wb") as output:
        status = limited(entering(root, row, inside, command), variables, output.fileno())
    seconds = time.monotonic() - started
    return Result(status, seconds, counts(log.read_text(errors="replace")) if command == "test" else "")


def limited(command: list[str], variables: Mapping[str, str], output: int) -> int:
    """Run a command without a terminal, and return its status; it is killed at the limit and on Ctrl-C."""
    with subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.write(output, f"\nstopped after {LIMIT // 3600} hours\n".encode())
            return 124
        finally:
            process.kill()


def entering(root: Path, row: Row, checkout: Path, command: str) -> list[str]:
    """Return the command line that runs a verb of do.py inside the root."""
    isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "/bin/sh", "-ec", INSIDE, "sh", str(root)]
    account = [f"--userspec={USER}:{USER}"] if row.user else []
    script = IGNORING_CTRL_C if row.ignores_ctrl_c else IN_CHECKOUT
    return [*isolated, *account, str(root), "/bin/sh", "-c", script, "sh", str(checkout), command]


def environment(host: Mapping[str, str], row: Row, home: Path) -> dict[str, str]:
    """Return the variables of a row: its own, and what the host needs to reach the network."""
    network = {name: value for name, value in host.items() if NETWORK.match(name)}
    own = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": str(home)}
    if not row.has_home:
        del own["HOME"]
    return {**network, **own, **row.variables}


def take_network_along(root: Path) -> None:
    """Copy what the host resolves names, verifies certificates and configures pip with."""
    user_settings = Path.home() / ".config" / "pip" / "pip.conf"
    # pip reads both of these; the second wins, as the user's settings do outside.
    copies = {"/etc/resolv.conf": "/etc/resolv.conf", "/etc/hosts": "/etc/hosts"}
    copies |= {"/etc/pip.conf": "/etc/xdg/pip/pip.conf", str(user_settings): "/etc/pip.conf"}
    copies |= {path: path for name in CERTIFICATES if (path := os.environ.get(name, ""))}
    for source, target in copies.items():
        if Path(source).is_file():
            inside = root / target.lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.unlink(missing_ok=True)
            shutil.copyfile(source, inside)


@contextmanager
def folders(root: Path, row: Row) -> Iterator[tuple[Path, Path]]:
    """Make a home and a copy of the checkout inside the root, owned by who runs there; remove them at the end."""
    # Named for this process, so that two proofs can run at the same time.
    place = root / ("home" if row.user else "root") / f"newcomer-{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        home, checkout = place / "home", place / row.folder
        home.mkdir(parents=True)
        ignored = git_too if row.from_archive else LEFT_OUT
        shutil.copytree(CHECKOUT, checkout, symlinks=True, ignore=ignored)
        if row.user:
            for path in (place, *place.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)
        if not row.writable_home:
            os.chown(home, 0, 0)
            home.chmod(0o555)
        yield home, checkout
    finally:
        shutil.rmtree(place, ignore_errors=True)


def git_too(folder: str, names: list[str]) -> set[str]:
    """Leave out what an archive of the source does not contain."""
    return LEFT_OUT(folder, names) | ({".git"} & set(names))


def counts(output: str) -> str:
    """Return how many tests passed and how many were skipped, from the last summary of pytest."""
    summaries = re.findall(r"^.*\d+ (?:passed|failed|errors?)\b.* in [\d.]+s.*", output, re.MULTILINE)
    found = re.findall(r"\d+ (?:failed|passed|skipped|errors?)\b", summaries[-1] if summaries else "")
    return " ".join(found)


def line(title: str, cells: list[str]) -> str:
    width = max(len(row.title) for row in ROWS.values())
    return " | ".join([title.ljust(width), *(cell.ljust(width) for cell in cells)]).rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
