"""Which phase and which task of one plan became which of another."""

from __future__ import annotations

from bisect import bisect_left

from tildone.core.plan import Plan
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Phase, Task

    Pairs = list[tuple[int, int]]
    Location = tuple[int, int]
    Chain = tuple[int, "Chain | None"]


@value
class PlanMatch:
    """Two plans and what they share.

    `pairs` are phases that became each other, in the order of `after`. `origins` says of a task of `after` where it
    was before; one that is not there is new.
    """

    before: Plan
    after: Plan
    pairs: Pairs
    origins: dict[Location, Location]

    def was(self, spot: Location) -> Task | None:
        """The task that the one at a spot of `after` was before."""
        origin = self.origins.get(spot)
        return None if origin is None else task_at(self.before, origin)


def match_plans(before: Plan, after: Plan) -> PlanMatch:
    """What two plans share. A task is known by its text, a phase by its name or by sharing a task."""
    pairs = _phase_pairs(before.phases, after.phases)
    return PlanMatch(before, after, pairs, _origins(before, after, pairs))


def task_locations(plan: Plan) -> list[Location]:
    """Where the tasks of a plan are: the phase, and the place in it."""
    return [(i, a) for i, phase in enumerate(plan.phases) for a in range(len(phase.tasks))]


def task_at(plan: Plan, spot: Location) -> Task:
    """The task at a spot."""
    return plan.phases[spot[0]].tasks[spot[1]]


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """The most of these different numbers that already stand in order; the others are those that moved."""
    if list(numbers) == sorted(numbers):
        return set(numbers)
    ends: list[int] = []
    chains: list[Chain] = []
    for number in numbers:
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        chains[length : length + 1] = [(number, chains[length - 1] if length else None)]
    rising = set()
    link: Chain | None = chains[-1]
    while link:
        number, link = link
        rising.add(number)
    return rising


def _phase_pairs(before: Sequence[Phase], after: Sequence[Phase]) -> Pairs:
    """Which phase became which: those of one name in turn, then those that share a task."""
    pairs = _in_turn([phase.name for phase in before], [phase.name for phase in after])
    old = [i for i in range(len(before)) if i not in {i for i, _ in pairs}]
    new = [j for j in range(len(after)) if j not in {j for _, j in pairs}]
    for i in old:
        texts = set(_texts(before[i]))
        heir = next((j for j in new if texts.intersection(_texts(after[j]))), None)
        if heir is not None:
            new.remove(heir)
            pairs.append((i, heir))
    return sorted(pairs, key=lambda pair: pair[1])


def _origins(before: Plan, after: Plan, pairs: Pairs) -> dict[Location, Location]:
    """Where each task of `after` was before: in the same phase if it can be, else in any."""
    origins = {(j, b): (i, a) for i, j in pairs for a, b in _in_turn(_texts(before.phases[i]), _texts(after.phases[j]))}
    taken = set(origins.values())
    old = [spot for spot in task_locations(before) if spot not in taken]
    new = [spot for spot in task_locations(after) if spot not in origins]
    crossed = _in_turn([task_at(before, spot).text for spot in old], [task_at(after, spot).text for spot in new])
    return origins | {new[b]: old[a] for a, b in crossed}


def _in_turn(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """The positions of equal names: the first with the first, the second with the second."""
    waiting: dict[str, list[int]] = {}
    for i in reversed(range(len(before))):
        waiting.setdefault(before[i], []).append(i)
    return [(waiting[name].pop(), j) for j, name in enumerate(after) if waiting.get(name)]


def _texts(phase: Phase) -> list[str]:
    return [task.text for task in phase.tasks]
