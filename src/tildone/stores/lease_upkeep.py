"""The operations on leases that nobody holds yet: schedules, rates of requests, and rebuilding leases from the log."""

from __future__ import annotations

from tildone.errors import Refused, StoreDamaged, UsageError
from tildone.log.codec import parse_strictly, plan_from_json
from tildone.log.events import PlanChanged
from tildone.log.fleet import rules
from tildone.log.fleet.lease import NewRun, checked_run
from tildone.log.fleet.names import MAX_NAME
from tildone.log.fleet.rules import leases_in
from tildone.log.fleet.settings import MINUTE_MS, request_at
from tildone.stores.leasing import LeaseOperations
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tildone.log.events import Event
    from tildone.log.fleet.port import NextTime
    from tildone.stores.lease_transaction import LeaseTransaction

UNIQUE_LENGTH = 6
"""How many characters of an id make the run of a schedule unique."""


class _UnusableSchedule(Exception):
    """No run of the schedule of that name can be queued."""


class LeaseUpkeep(LeaseOperations):
    """The rest of the operations of `RunLeases` that change leases. See there."""

    def _run_sessions(self) -> Iterable[str]:
        """Return the sessions whose logs tell of runs."""
        raise NotImplementedError

    def _events(self, session: str) -> Iterator[Event]:
        """Return the events of all branches of a session, in the order they were written."""
        raise NotImplementedError

    def rebuild(self) -> int:
        """Add the leases that the logs of all plans tell of and that are missing; return how many."""
        return sum(self._rebuild(session) for session in list(self._run_sessions()))

    def request(self, provider: str) -> int:
        """Take one of the requests of this minute; return how long to wait if there is none."""

        def work(tables: LeaseTransaction) -> int:
            per_minute, earliest = tables.requests(provider)
            if per_minute <= 0:
                return 0
            # Requests are spread over a minute, whatever the row says.
            earliest = min(earliest, tables.at.now + MINUTE_MS)
            following, wait = request_at(earliest, tables.at.now, per_minute)
            if not wait:
                tables.set_next_request(provider, following)
            return wait

        return self._change(work)

    def skip_delay(self, run: str) -> None:
        """Let queued leases of a run be taken at once, although they have a delay, unless an agent has failed."""

        def work(tables: LeaseTransaction) -> None:
            found = [rules.without_delay(lease, tables.at.now) for lease in tables.leases(run)]
            hastened = [lease for lease in found if lease is not None]
            for lease in hastened:
                tables.update(lease)
            if hastened:
                tables.announce()

        self._change(work)

    def reconsider(self, run: str, hand: int, worker: str) -> None:
        """Let a worker take a queued lease that it has refused."""

        def work(tables: LeaseTransaction) -> None:
            lease = tables.lease(run, hand)
            if lease is not None and lease.is_queued and worker in lease.refused:
                tables.update(replace(lease, refused=tuple(each for each in lease.refused if each != worker)))
                tables.announce()

        self._change(work)

    def tick(self, next_time: NextTime) -> dict[str, str]:
        """Queue a run of each schedule that is due; return the runs by schedule."""
        found: dict[str, str] = {}
        unusable: set[str] = set()
        while True:
            try:
                ticked = self._change(lambda tables: self._tick(tables, next_time, unusable))
            except _UnusableSchedule as error:
                # It is passed over, so that it does not hold up the others.
                unusable.add(str(error))
                continue
            if ticked is None:
                return found
            found[ticked[0]] = ticked[1]

    def _rebuild(self, session: str) -> int:
        found = leases_in(session, self._events(session))

        def work(tables: LeaseTransaction) -> int:
            tables.lock(session)
            missing = [lease for lease in found if tables.lease(lease.run, lease.hand) is None]
            until = tables.at.clock + tables.settings().lease
            for lease in missing:
                tables.insert(replace(lease, until=until, boot=tables.at.boot) if lease.is_held else lease)
            tables.announce()
            return len(missing)

        return self._change(work)

    def _tick(self, tables: LeaseTransaction, next_time: NextTime, unusable: Collection[str]) -> tuple[str, str] | None:
        schedule = tables.due()
        if schedule is None:
            return None
        # Late, because only schedules need the calendar.
        from datetime import UTC, datetime  # noqa: PLC0415  see above

        following = replace(schedule, next=next_time(schedule, tables.at.now))
        last = tables.session_of(schedule.last) if schedule.last else None
        if schedule.name in unusable or (last is not None and schedule.last in tables.active(last)):
            tables.put_schedule(following)
            return schedule.name, ""
        when = f"-{datetime.fromtimestamp(schedule.next / 1000, UTC):%Y%m%d-%H%M}"
        # Processes and folders are named after runs, and another fleet on a machine may have a schedule of that name.
        unique = f"-{self._scribe.new_id()[-UNIQUE_LENGTH:]}"
        name = f"{schedule.name[: MAX_NAME - len(when) - len(unique)]}{when}{unique}"
        try:
            plan = plan_from_json(parse_strictly(schedule.plan))
            tables.lock(name)
            self._add(tables, checked_run(NewRun(name, name, schedule.work)), [PlanChanged(plan)])
        except (Refused, UsageError, StoreDamaged, ValueError) as error:
            raise _UnusableSchedule(schedule.name) from error
        tables.put_schedule(replace(following, last=name))
        tables.announce()
        return schedule.name, name
