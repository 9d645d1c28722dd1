"""`tildone answer`: list the open questions of agents, and answer one of them."""

from collections.abc import Sequence

from tildone.app.answering import answer_need, caution_of
from tildone.app.opening import session_title
from tildone.app.sessions import awaited_needs
from tildone.app.who import PersonAct, check_person
from tildone.base import NotFound, Refused, UsageError
from tildone.base.ids import now, timestamp
from tildone.cli.opening import open_existing_store, open_to_read, settings_for
from tildone.cli.output import put, put_caution, put_raw
from tildone.cli.output.prompts import put_data, put_done
from tildone.cli.table import ParsedArgs
from tildone.log.needs import Need, NeedAnswered
from tildone.log.store import Store
from tildone.plan.text.amounts import ago
from tildone.plan.text.safe import printable
from tildone.stores.agents import active_everywhere

_FIELDS = ("id", "session", "kind", "text", "options", "detail", "agent", "answer", "answered_by")


def run(args: ParsedArgs) -> int:
    settings = settings_for(args)
    reading = open_to_read(settings)
    wanted, *words = args.positional or ("",)
    if not words:
        at = now()
        active = active_everywhere(settings.agents_dir, at)
        awaited = awaited_needs(reading.records.needs(), active, reading.records.presences(), at)
        found = [_named(reading, wanted)] if wanted else awaited
        if args.has("json"):
            put_data(questions=[_as_data(need) for need in found])
        else:
            _print(found)
        return 0
    # An agent is refused before it learns what there is to answer.
    check_person(settings, PersonAct.ANSWER)
    need = _named(reading, wanted)
    try:
        answered = answer_need(settings, open_existing_store(settings), need.id, " ".join(words))
    except NeedAnswered as error:
        raise Refused(_already(error.need)) from error
    return put_done(args, f"Answered {answered.id}: {printable(answered.answer)}", questions=[_as_data(answered)])


def _named(store: Store, wanted: str) -> Need:
    known = store.records.need(wanted)
    if known is not None and not known.is_open:
        raise Refused(_already(known))
    found = [need for need in store.records.needs() if need.id.startswith(wanted)]
    exact = [need for need in found if need.id == wanted]
    if len(exact or found) > 1:
        raise UsageError(f"{len(found)} open questions begin with {wanted!r}; name one of them whole")
    if not found:
        raise NotFound(f"there is no open question {printable(wanted)!r}; to list them: tildone answer")
    return (exact or found)[0]


def _print(needs: Sequence[Need]) -> None:
    if not needs:
        put("No agent waits for an answer.")
    for need in needs:
        who = (session_title(need.session), need.agent, ago(now() - need.since))
        put(f"{printable(need.id)}  {', '.join(printable(part) for part in who if part)}")
        text = f"{need.detail}\n{need.text}" if need.detail else need.text
        put_raw("\n".join(f"  {line}" for line in text.splitlines()))
        put_caution(caution_of(need))
        if need.options:
            put(f"  To answer: tildone answer {need.id} {'|'.join(printable(option) for option in need.options)}")


def _already(need: Need) -> str:
    by = printable(need.answered_by) or "somebody"
    return f"the question {need.id} was answered by {by} at {timestamp(need.answered_at)}: {printable(need.answer)}"


def _as_data(need: Need) -> dict[str, object]:
    times = {"since": need.since, "answered_at": need.answered_at or None}
    return {**{name: getattr(need, name) for name in _FIELDS}, **times}
