"""`tildone fleet transcript`: what the agents of a run said and did, where their worker ran."""

from tildone.app.transcripts import TranscriptItem, agent_items, entry_text, newest_output
from tildone.base import NotFound
from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.output import put, put_notice, put_raw
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.runs import Lease, RunTaken, is_of, worker_of
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable
from tildone.stores.agents import machine_name


def transcript(args: ParsedArgs) -> int:
    """Print the transcripts of the hands that are meant. Raises NotFound if none of them is here."""
    fleet = open_existing_fleet(args, read_only=True)
    leases = [view.lease for view in fleet.run_named(args.positional[0])]
    outputs = {lease: newest_output(fleet.home, lease) for lease in leases}
    missing = [_missing(fleet, lease) for lease, output in outputs.items() if not output]
    if len(missing) == len(leases):
        raise NotFound("; ".join(missing))
    found = {lease: agent_items(output) for lease, output in outputs.items() if output}
    if args.has("json"):
        put_data(hands=[_data(lease, items) for lease, items in found.items()], missing=missing)
        return 0
    for lease, items in found.items():
        if len(leases) > 1:
            put(f"# {lease.run}/{lease.hand + 1}")
        for item in items:
            put_raw(entry_text(item))
    for text in missing:
        put_notice(f"tildone: {text}")
    return 0


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
    return {"run": lease.run, "hand": lease.hand + 1, "agent": lease.work.agent, "items": said}
