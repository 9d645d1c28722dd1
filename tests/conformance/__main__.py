"""`python -m tests.conformance [--only PREFIX] [--show N] [FOLDER]`: judge vectors and print the table."""

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
    parser.add_argument("folder", nargs="?", type=Path, default=VECTORS)
    options = parser.parse_args(argv)

    counts: Counter[tuple[str, Verdict]] = Counter()
    for vector in vectors(options.folder):
        if not vector["kind"].startswith(options.only):
            continue
        verdict, first = judge(vector, WORLDS)
        counts[vector["kind"], verdict] += 1
        if verdict is Verdict.FAIL and total(counts, verdict) <= options.show:
            print("FAIL", vector["id"], vector.get("note", ""), json.dumps(first, ensure_ascii=False)[:1500])
    print("\n".join(table(counts)))
    return 1 if total(counts, Verdict.FAIL) or not counts else 0


def table(counts: Counter[tuple[str, Verdict]]) -> list[str]:
    """Return a row for each kind and verdict, then the totals."""
    rows = sorted((kind, verdict.value, number) for (kind, verdict), number in counts.items())
    strict, alternative, relaxed, failed = (total(counts, verdict) for verdict in Verdict)
    return [
        *(f"{kind:20} {verdict:8} {number}" for kind, verdict, number in rows),
        f"{strict + alternative + relaxed} passed, {failed} failed",
        f"strict {strict} alternative {alternative} relaxed {relaxed} failed {failed}",
    ]


def total(counts: Counter[tuple[str, Verdict]], verdict: Verdict) -> int:
    return sum(number for (_, given), number in counts.items() if given is verdict)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
