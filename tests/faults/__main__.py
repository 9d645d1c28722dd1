"""`python -m tests.faults [short|long|gate|repeat] …`: the campaign, its parts, or one input again.

short [PART…] [seed=N]                  every part, or those named, in less than a minute
long [PART…] [seed=N] [inputs=N]        the same with a million odd inputs (the default), or with so many
long [PART…] [seed=N] minutes=N         the same with odd inputs for so many minutes
gate [write] [AGENT]                    the table of agents against the gate, or the row of one; `write` puts it
                                        into the documentation
repeat seed=N input=N PARSER            feed one odd input to its parser again
"""

import shutil
import sys
import tempfile
from pathlib import Path
from random import Random, SystemRandom

from tests.faults import campaign, tally
from tests.faults.fuzz.worker import all_targets
from tests.faults.gate.table import ALL_AGENTS, PAGE, page, page_with, run_table, table, tables

MAX_MINUTES, UNLIMITED = 24 * 60, 10**12


def main(argv: list[str]) -> int:
    """Run what the words name, and return the exit code."""
    options = dict(word.split("=", 1) for word in argv if "=" in word)
    words = [word for word in argv if "=" not in word]
    form = words.pop(0) if words else "long"
    if form == "gate":
        return gate(" ".join(word for word in words if word != "write"), write="write" in words)
    if form == "repeat":
        return repeat(options["seed"], int(options["input"]), " ".join(words))
    parts = [word.replace("-", " ") for word in words]
    known = form in ("short", "long") and set(parts) <= campaign.PARTS.keys()
    if not known or not options.keys() <= {"seed", "inputs", "minutes"}:
        print(__doc__, file=sys.stderr)
        return 2
    seed = int(options.get("seed") or SystemRandom().randrange(10**9))
    folder = Path(tempfile.mkdtemp(prefix="tildone-faults-"))
    minutes = float(options.get("minutes", MAX_MINUTES))
    inputs = int(options.get("inputs", UNLIMITED if "minutes" in options else 1_000_000))
    plan = tally.short(seed, folder) if form == "short" else tally.long(seed, folder, inputs, minutes)
    code = campaign.run(plan, parts)
    if code == 0:
        shutil.rmtree(folder)
    return code


def gate(name: str, *, write: bool) -> int:
    """Run every agent, or the one of that name, print the tables, and write them into the page if asked to."""
    cells = []
    for cell in run_table(tuple(agent for agent in ALL_AGENTS if name in ("", agent.name))):
        cells.append(cell)
        print(f"{cell.key}: {cell.text}", file=sys.stderr, flush=True)
    print(table(cells) if name else tables(cells))
    if write:
        PAGE.write_text(page_with(cells) if name else page(cells), encoding="utf-8", newline="\n")
    return 0


def repeat(seed: str, number: int, name: str) -> int:
    """Feed one input to a parser again; an exception is shown."""
    with tempfile.TemporaryDirectory() as folder:
        target = next(each for each in all_targets(Path(folder)) if each.name == name)
        given = target.draw(Random(f"{seed} {target.name} {number}"))  # noqa: S311  as the worker draws it
        print(repr(given))
        target.feed(given)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
