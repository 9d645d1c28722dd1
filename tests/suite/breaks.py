"""Break lines of the source at random, run the tests that reach them, and print what no test noticed.

    python3 do.py breaks                              breaks 200 lines
    python3 do.py breaks --count 300 --seed 7         breaks others
    python3 do.py breaks --keep FOLDER                keeps the choice and who reaches it, and goes on from there

Everything happens in copies of the checkout, which are removed at the end. First, a call in front of each chosen line
notes which tests of `do.py test` reach it; then each line is broken in turn, and those tests are run. A line counts as
noticed if one of them fails, or does not end. Only lines inside of functions are broken: the others run while a module
is imported, and no test reaches them by itself.

The processes that a test starts know it by the variable PYTEST_CURRENT_TEST. A process that serves several tests knows
only the first of them, so a line that survives is tried again with whole files of tests.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
LIMIT = 300
"""Seconds. A broken line may cause an endless loop."""

MAX_TESTS = 60
"""How many of the tests that reach a line are run before whole files are."""

HITS = """
import os
SEEN = set()
def hit(site):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if (site, test) not in SEEN:
        SEEN.add((site, test))
        file = os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(file, f"{{site}}\\t{{test.rpartition(' ')[0]}}\\n".encode())
        os.close(file)
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement, named by its place and its text, and what takes its place."""

    path: str
    line: int
    text: str
    broken: str
    how: str


def pick(count: int, seed: int) -> list[Site]:
    """Choose lines: each statement is as likely as any other."""
    found = [
        site
        for path in sorted((ROOT / "src" / "tildone").rglob("*.py"))
        for site in sites_in(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(found, count)  # noqa: S311  which lines are broken is no secret


def sites_in(path: str, source: str) -> Iterator[Site]:
    lines = source.split("\n")
    seen = set()
    for function in ast.walk(ast.parse(source)):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ():
            one_line = isinstance(node, ast.stmt) and node.lineno == node.end_lineno
            if node is function or not isinstance(node, ast.stmt) or node.lineno in seen or is_docstring(node):
                continue
            text = lines[node.lineno - 1]
            # The header of a block has its condition on one line; `elif` is an `if` inside of another.
            header = isinstance(node, ast.If | ast.While) and re.match(r"\s*(if|while) .*:\s*$", text)
            changed = (
                broken(node)
                if (one_line or header) and ";" not in text and not text.strip().startswith("elif ")
                else None
            )
            if changed is not None:
                seen.add(node.lineno)
                yield Site(path, node.lineno, text, indent_of(text) + changed[0], changed[1])


def indent_of(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def broken(node: ast.stmt) -> tuple[str, str] | None:
    """Return the statement in a broken form and what was done to it, or None if it has no such form."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            word = "if" if isinstance(node, ast.If) else "while"
            return f"{word} not ({ast.unparse(test)}):", "condition negated"
        case ast.Return(value=ast.Constant(value=bool() as value)):
            return f"return {not value}", "opposite returned"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return f"return None if ({ast.unparse(value)}) is not None else None", "nothing returned"
        case ast.Return(value=ast.Constant(value=str() | int())):
            return "return None", "nothing returned"
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Break() | ast.Continue():
            return "pass", "left out"
        case ast.Assign(targets=[target], value=value) if not isinstance(value, ast.Constant | ast.Lambda):
            return f"{ast.unparse(target)} = None if ({ast.unparse(value)}) is not None else None", "nothing assigned"
        case _:
            return None


def reach(sites: list[Site], options: list[str]) -> dict[str, list[str]]:
    """Run the suite once and return which tests reach each site."""
    with copied_checkout() as copy:
        hits = copy / "hits.tsv"
        (copy / "src" / "tildone_hits.py").write_text(HITS.format(path=str(hits)), encoding="utf-8")
        by_path = defaultdict(list)
        for number, site in enumerate(sites):
            by_path[site.path].append((number, site))
        for path, found in by_path.items():
            lines = (copy / path).read_text(encoding="utf-8").split("\n")
            for number, site in sorted(found, key=lambda each: -each[1].line):
                lines.insert(place_of(site, lines), f"{indent_of(site.text)}__import__('tildone_hits').hit({number})")
            (copy / path).write_text("\n".join(lines), encoding="utf-8")
        subprocess.run([*pytest_in(copy), "-n", str(os.cpu_count()), *options], cwd=copy, check=False)
        reached: dict[str, set[str]] = defaultdict(set)
        for line in hits.read_text(encoding="utf-8").splitlines() if hits.exists() else []:
            reached[line.partition("\t")[0]].add(line.partition("\t")[2])
    return {number: sorted(tests) for number, tests in reached.items()}


def pytest_in(copy: Path) -> list[str]:
    return [str(copy / ".venv" / "bin" / "python"), "-m", "pytest", "-q"]


def place_of(site: Site, lines: list[str]) -> int:
    """Find a site's line, which may have moved since it was chosen."""
    same = [at for at, line in enumerate(lines) if line == site.text]
    if not same:
        raise LookupError(f"{site.path}:{site.line} is no longer there: {site.text.strip()}")
    return min(same, key=lambda at: abs(at - site.line + 1))


@contextmanager
def copied_checkout() -> Iterator[Path]:
    """Copy the checkout, with an environment of its own, and remove it at the end."""
    ignored = shutil.ignore_patterns(".venv*", ".git", ".clients", "__pycache__", ".mypy_cache", ".hypothesis")
    with tempfile.TemporaryDirectory(prefix="tildone-breaks-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "checkout")
        shutil.copytree(ROOT, copy, ignore=ignored)
        subprocess.run([sys.executable, "do.py", "setup"], cwd=copy, check=True)
        yield copy


def try_one(copy: Path, site: Site, tests: list[str], options: list[str]) -> str | None:
    """Break a line in a copy and run tests. Return what noticed it, or None."""
    path = copy / site.path
    whole = path.read_text(encoding="utf-8")
    lines = whole.split("\n")
    lines[place_of(site, lines)] = site.broken
    path.write_text("\n".join(lines), encoding="utf-8")
    files = sorted({test.partition("::")[0] for test in tests})
    few = random.Random(0).sample(tests, min(MAX_TESTS, len(tests)))  # noqa: S311  a sample
    try:
        return run_tests(copy, few, options) or run_tests(copy, files, options)
    finally:
        path.write_text(whole, encoding="utf-8")


def run_tests(copy: Path, tests: list[str], options: list[str]) -> str | None:
    command = [*pytest_in(copy), "-x", "-p", "no:randomly", *options, *tests]
    process = subprocess.Popen(
        command, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "did not end"
    if process.returncode in (0, 5):
        return None
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0][:160] if failed else f"exit status {process.returncode}: {output[-300:]}"


def try_all(sites: list[Site], reached: dict[str, list[str]], options: list[str], copies: int) -> list[str]:
    """Break each line in turn, in several copies at once. Return the survivors."""
    survivors = []
    idle: SimpleQueue[Path] = SimpleQueue()

    def attempt(number: int) -> None:
        site, tests = sites[number], [test for test in reached.get(str(number), []) if test]
        copy = idle.get()
        try:
            noticed = try_one(copy, site, tests, options) if tests else None
        finally:
            idle.put(copy)
        where = f"{number} {site.path}:{site.line} {site.how}: {site.text.strip()}"
        if noticed is None:
            survivors.append(where)
        print(f"{'noticed ' if noticed else 'SURVIVED'} {where}  [{len(tests)} tests] {noticed or ''}", flush=True)

    with ExitStack() as stack, ThreadPoolExecutor(copies) as pool:
        for _ in range(copies):
            idle.put(stack.enter_context(copied_checkout()))
        list(pool.map(attempt, range(len(sites))))
    return survivors


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="do.py breaks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many lines are broken")
    parser.add_argument("--seed", type=int, default=1, help="which lines are chosen")
    parser.add_argument("--keep", type=Path, help="a folder for the choice and what reaches it; what is there is used")
    parser.add_argument("--copies", type=int, default=2, help="how many lines are tried at once")
    parser.add_argument("--all", action="store_true", help="with all tests, also the slow ones")
    asked = parser.parse_args(argv)
    options = [] if asked.all else ["-m", "not slow"]
    with tempfile.TemporaryDirectory() as scratch:
        kept = asked.keep or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        chosen, known = kept / "sites.json", kept / "reached.json"
        if not chosen.exists():
            chosen.write_text(json.dumps([asdict(site) for site in pick(asked.count, asked.seed)], indent=1))
        sites = [Site(**each) for each in json.loads(chosen.read_text())]
        if not known.exists():
            known.write_text(json.dumps(reach(sites, options), indent=1))
        survivors = try_all(sites, json.loads(known.read_text()), options, asked.copies)
    print(f"{len(survivors)} of {len(sites)} broken lines were not noticed:")
    print(*sorted(survivors), sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
