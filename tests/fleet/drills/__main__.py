"""`python -m tests.fleet.drills [KIND…]`: drills with leases of 10 s, and a table of what came of them.

`python -m tests.fleet.drills many` runs many plans without any fault instead, and `python -m tests.fleet.drills night`
plans of which some need a person; see `many` and `night`.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from time import monotonic

from tests.fleet.drills import many, night
from tests.fleet.drills.faults import KINDS
from tests.fleet.drills.harness import LONG, SHORT
from tests.fleet.drills.outcome import Outcome
from tests.fleet.drills.places import Place
from tests.fleet.drills.trials import Trial, run_all

HEAD = (
    "| drill | place | trials | lost | twice in plan | stuck | overlap | begun / ended twice (of) "
    "| takeover: n, min – median – max s |"
)


def main(argv: Sequence[str]) -> int:
    """Run the drills, print the table, and return the exit code."""
    if argv[:1] == ["many"]:
        return many.main(argv[1:])
    if argv[:1] == ["night"]:
        return night.main(argv[1:])
    asked = _parser().parse_args(argv)
    kinds = [kind for kind in KINDS if not asked.kinds or kind.name in asked.kinds]
    places = [Place(name) for name in asked.place or [place.value for place in Place]]
    trials = [
        Trial(kind, place) for _ in range(asked.trials) for kind in kinds for place in places if place in kind.places
    ]
    began, ended = monotonic(), []
    code = 0
    try:
        for trial in run_all(trials, SHORT if asked.short else LONG, asked.at_once):
            ended.append(trial)
            print(f"{len(ended)}/{len(trials)} {monotonic() - began:.0f} s: {trial}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    print("\n".join(table(ended)))
    return code or int(not all(trial.is_good for trial in ended))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="do.py drills", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(kind.name for kind in KINDS))
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="how often each drill is run")
    parser.add_argument(
        "--place", action="append", choices=[place.value for place in Place], help="where; several times for several"
    )
    parser.add_argument("--at-once", type=int, default=5, metavar="N", help="how many drills run at the same time")
    parser.add_argument("--short", action="store_true", help="the form of the tests: leases of 3 s, 2 runs")
    return parser


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """Return the results as a Markdown table, one row for each kind and place."""
    yield from (HEAD, "|" + "---|" * (HEAD.count("|") - 1))
    for kind, place in [(each, place) for each in KINDS for place in each.places]:
        found = [trial for trial in trials if (trial.kind, trial.place) == (kind, place)]
        outcomes = [trial.outcome for trial in found if trial.outcome]
        whole, failed = sum(outcomes, Outcome()), sum(not trial.is_good for trial in found)
        if found:
            yield (
                f"| {kind.title} | {place.value} | {len(outcomes)}{f', {failed} failed' if failed else ''} "
                f"| {whole.lost} | {whole.twice} | {whole.stuck} "
                f"| {whole.overlap}{f' ({whole.late} late)' if kind.is_suspended else ''} "
                f"| {whole.begun_twice} / {whole.ended_twice} ({whole.tasks}) | {whole.range} |"
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
