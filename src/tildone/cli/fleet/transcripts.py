"""`tildone fleet transcript`: what the agents of a run said and did, where their worker ran."""

import os

from tildone.app.transcripts import TranscriptItem, agent_items, item_text
from tildone.base import NotFound
from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.output import put, put_notice, put_raw
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.names import FileName
from tildone.plan.runs import Lease, RunTaken, is_of, worker_of
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable
from tildone.stores.agents import machine_name


def newest_output(home: str, lease: Lease) -> str:
    """Return the newest output of an agent of a hand here, that of the highest epoch; empty if there is none."""
    name = FileName.of(lease.run, lease.hand)
    outputs = (os.path.join(home, "runs", f"{name}.{epoch}.output") for epoch in range(lease.epoch, 0, -1))
    return next(filter(os.path.exists, outputs), "")


def transcript(args: ParsedArgs) -> int:
    """Print the transcripts of the hands that are meant. Raises NotFound if none of them is here."""
    fleet = open_existing_fleet(args, read_only=True)
    leases = [view.lease for view in fleet.run_named(args.positional[0])]
    outputs = {lease: newest_output(fleet.home, lease) for lease in leases}
    missing = [_missing(fleet, lease) for lease, output in outputs.items() if not output]
    if len(missing) == len(leases):
        raise NotFound("; ".join(missing))
    found = {lease: _items(output) for lease, output in outputs.items() if output}
    if args.has("json"):
        put_data(hands=[_data(lease, items) for lease, items in found.items()], missing=missing)
        return 0
    for lease, items in found.items():
        if len(leases) > 1:
            put(f"# {lease.run}/{lease.hand + 1}")
        for item in items:
            # Lines after the first are indented, so that no text looks like another entry.
            put_raw(item_text(item).replace("\n", "\n  ") if item.who else item.text)
    for text in missing:
        put_notice(f"tildone: {text}")
    return 0


def _items(output: str) -> list[TranscriptItem]:
    return agent_items(output, f"{output.removesuffix('output')}transcript")


def _missing(fleet: Fleet, lease: Lease) -> str:
    """Return why there is no transcript of a hand here."""
    facts = (event.fact for event in fleet.store.events(lease.session))
    owners = [fact.owner for fact in facts if isinstance(fact, RunTaken) and is_of(fact, lease)]
    if not owners:
        return f"{hand_name(lease)} has not begun"
    worker = worker_of(owners[-1])
    machine = worker.partition("/")[0]
    where = "not in this folder" if machine == machine_name() else f"on {printable(machine)}"
    return f"the transcript of {hand_name(lease)} is {where}: worker {printable(worker)} ran it"


def _data(lease: Lease, items: list[TranscriptItem]) -> dict[str, object]:
    said = [{"who": item.who or None, "text": item.text, "arguments": item.arguments} for item in items]
    return {"run": lease.run, "hand": lease.hand + 1, "agent": lease.work.agent, "said": said}
