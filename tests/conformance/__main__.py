"""`python -m tests.conformance [--only PREFIX] [--show N] [--relaxed] [FOLDER]`: judge vectors and print the table."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.judge import VECTORS, Verdict, judge, vectors
from tests.conformance.worlds import WORLDS


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Judge recorded vectors.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="only kinds with this prefix, e.g. td. or ph.ops")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="how many failures to show in full")
    parser.add_argument("--relaxed", action="store_true", help="list the relaxed vectors with what each shows")
    parser.add_argument("folder", nargs="?", type=Path, default=VECTORS)
    options = parser.parse_args(argv)

    counts: Counter[tuple[str, Verdict]] = Counter()
    shown: Counter[str] = Counter()
    for vector in vectors(options.folder):
        if not vector["kind"].startswith(options.only):
            continue
        verdict, first, why = judge(vector, WORLDS)
        counts[vector["kind"], verdict] += 1
        shown.update(why)
        if verdict is Verdict.FAIL and total(counts, verdict) <= options.show:
            put(f"FAIL {vector['id']} {vector.get('note', '')} {json.dumps(first, ensure_ascii=False)[:1500]}")
        elif verdict is Verdict.RELAXED and options.relaxed:
            put(f"relaxed {vector['id']} by {', '.join(sorted(why))}")
    put("\n".join(table(counts, shown)))
    return 1 if total(counts, Verdict.FAIL) or not counts else 0


def table(counts: Counter[tuple[str, Verdict]], shown: Counter[str]) -> list[str]:
    """Return a row for each kind and verdict, then one for each difference that vectors show, then the totals."""
    rows = sorted((kind, verdict.value, number) for (kind, verdict), number in counts.items())
    strict, alternative, relaxed, failed = (total(counts, verdict) for verdict in Verdict)
    return [
        *(f"{kind:20} {verdict:8} {number}" for kind, verdict, number in rows),
        *(f"{name:30} {number}" for name, number in sorted(shown.items())),
        f"{strict + alternative + relaxed} passed, {failed} failed",
        f"strict {strict} alternative {alternative} relaxed {relaxed} failed {failed}",
    ]


def put(text: str) -> None:
    """Print a text, whatever it contains."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def total(counts: Counter[tuple[str, Verdict]], verdict: Verdict) -> int:
    return sum(number for (_, given), number in counts.items() if given is verdict)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
