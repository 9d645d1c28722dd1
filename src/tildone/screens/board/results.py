"""What has become of the runs of a fleet: results, what a branch has changed, what agents said."""

import os

from tildone.app.result_texts import counts_text, facts_of, reasons, result_data, word_of
from tildone.app.run_results import GROUPS
from tildone.app.runs import fleet_home
from tildone.app.transcripts import agent_items, entry_text, newest_output
from tildone.base import NotFound
from tildone.base.ids import now
from tildone.fleet.git import Git, GitError
from tildone.plan.names import is_address, is_commit
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable
from tildone.screens.board.http import ApiAnswer, Problem
from tildone.screens.board.reading import Visit

MAX_HOURS, DEFAULT_HOURS = 24 * 31, 24
HOUR_MS = 3_600_000
MAX_TEXT = 400_000
"""How much of a difference, or of a transcript, is shown."""

DIFF_SECONDS = 20.0


def results(visit: Visit) -> ApiAnswer:
    """Return the results of the runs that changed within some hours, and of those that need a person."""
    hours, board = visit.number("hours", DEFAULT_HOURS, MAX_HOURS) or DEFAULT_HOURS, visit.board
    if not board.fleet.exists:
        return ApiAnswer({group: [] for group in GROUPS} | {"counts": ""})
    groups = board.fleet.results(now() - hours * HOUR_MS)
    found: dict[str, object] = {
        group: [
            result_data(each)
            | {
                "key": board.keys.key(each.leases[0].session),
                "word": word_of(each),
                "facts": facts_of(each),
                "reasons": reasons(each),
            }
            for each in members
        ]
        for group, members in groups.items()
    }
    return ApiAnswer({"counts": counts_text(groups), **found})


def diff(visit: Visit) -> ApiAnswer:
    """Return what the branch of a run has changed, if its repository is on this machine."""
    run = visit.query.get("run", "")
    found = visit.board.fleet.result(run)
    if found is None:
        raise NotFound(f"there is no run {printable(run)!r}")
    end, repo = found.end, found.leases[0].work.repo
    if end is None or not is_commit(end.commit) or not is_commit(end.base):
        raise Problem(404, "This run has changed nothing that is known.")
    if is_address(repo) or not os.path.isdir(repo):
        raise Problem(404, "Its repository is not on the machine of the board.", "There, use the command below.")
    try:
        text = Git(repo, DIFF_SECONDS).run("diff", "--no-ext-diff", "--no-textconv", end.base, end.commit)
    except GitError as error:
        raise Problem(404, f"The difference cannot be shown: {printable(str(error))}") from error
    return ApiAnswer({"run": run, "text": _bounded(text)})


def transcript(visit: Visit) -> ApiAnswer:
    """Return what the agents of a run said and did, as far as they ran on this machine."""
    run, home = visit.query.get("run", ""), fleet_home(visit.board.settings)
    found = visit.board.fleet.result(run)
    if found is None:
        raise NotFound(f"there is no run {printable(run)!r}")
    outputs = {lease: output for lease in found.leases if (output := newest_output(home, lease))}
    if not outputs:
        raise Problem(404, "Its agents did not run on the machine of the board.", "There, use the command below.")
    parts = []
    for lease, output in outputs.items():
        parts += [f"# {hand_name(lease)}"] if len(found.leases) > 1 else []
        parts += map(entry_text, agent_items(output))
    return ApiAnswer({"run": run, "text": _bounded("\n".join(parts))})


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n…"
