"""Matching of the phases and tasks of two versions of a plan."""

from __future__ import annotations

from bisect import bisect_left

from tildone.core.plan import Plan
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tildone.core.plan import Phase, Task

    Pairs = list[tuple[int, int]]
    Location = tuple[int, int]
    Chain = tuple[int, "Chain | None"]


@value
class PlanMatch:
    """Two plans and their common phases and tasks.

    `pairs` are the indices of matching phases, in the order of `after`. `origins` maps the location of a task in
    `after` to its location in `before`; new tasks are missing.
    """

    before: Plan
    after: Plan
    pairs: Pairs
    origins: dict[Location, Location]

    def earlier(self, location: Location) -> Task | None:
        """Return the earlier version of the task at a location of `after`; None if it is new."""
        origin = self.origins.get(location)
        return None if origin is None else task_at(self.before, origin)


def match_plans(before: Plan, after: Plan) -> PlanMatch:
    """Match two plans: tasks by text or else by number, phases by name or by a shared task."""
    pairs = _phase_pairs(before.phases, after.phases)
    return PlanMatch(before, after, pairs, _origins(before, after, pairs))


def task_locations(plan: Plan) -> list[Location]:
    """Return the locations of all tasks: pairs of phase index and index in the phase."""
    return [(i, a) for i, phase in enumerate(plan.phases) for a in range(len(phase.tasks))]


def task_at(plan: Plan, location: Location) -> Task:
    return plan.phases[location[0]].tasks[location[1]]


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the longest increasing subsequence of distinct numbers; the others are those that moved."""
    if list(numbers) == sorted(numbers):
        return set(numbers)
    ends: list[int] = []
    chains: list[Chain] = []
    for number in numbers:
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        chains[length : length + 1] = [(number, chains[length - 1] if length else None)]
    longest = set()
    link: Chain | None = chains[-1]
    while link:
        number, link = link
        longest.add(number)
    return longest


def _phase_pairs(before: Sequence[Phase], after: Sequence[Phase]) -> Pairs:
    """Pairs of matching phases: by name, in order, then by a shared task."""
    pairs = _pair_equal([phase.name for phase in before], [phase.name for phase in after])
    old = [i for i in range(len(before)) if i not in {i for i, _ in pairs}]
    new = [j for j in range(len(after)) if j not in {j for _, j in pairs}]
    for i in old:
        texts = set(_texts(before[i]))
        successor = next((j for j in new if texts.intersection(_texts(after[j]))), None)
        if successor is not None:
            new.remove(successor)
            pairs.append((i, successor))
    return sorted(pairs, key=lambda pair: pair[1])


def _origins(before: Plan, after: Plan, pairs: Pairs) -> dict[Location, Location]:
    """The earlier location of each task of `after`.

    That is the task with the same number and text, else with the same text in its phase, else with the same text in any
    phase, else with the same number: it was renamed. Numbers alone come last, because the tasks of plans of earlier
    versions are numbered in their order whenever such a plan is read.
    """
    earlier_phase = {j: i for i, j in pairs}
    origins: dict[Location, Location] = {}
    for key in _KEYS:
        taken = set(origins.values())
        old = [at for at in task_locations(before) if at not in taken]
        new = [at for at in task_locations(after) if at not in origins]
        keys = [key(at[0], task_at(before, at)) for at in old]
        wanted = [key(earlier_phase.get(at[0]), task_at(after, at)) for at in new]
        origins |= {new[b]: old[a] for a, b in _pair_equal(keys, wanted)}
    return origins


_KEYS: tuple[Callable[[int | None, Task], Hashable], ...] = (
    lambda _, task: (task.number, task.text) if task.number else None,
    lambda phase, task: None if phase is None else (phase, task.text),
    lambda _, task: task.text,
    lambda _, task: task.number or None,
)
"""Functions of the index of a phase in the earlier plan, and a task in it; None matches nothing."""


def _pair_equal(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """Pairs of indices of equal keys: the first with the first, the second with the second."""
    waiting: dict[Hashable, list[int]] = {}
    for i in reversed(range(len(before))):
        waiting.setdefault(before[i], []).append(i)
    return [(waiting[key].pop(), j) for j, key in enumerate(after) if key is not None and waiting.get(key)]


def _texts(phase: Phase) -> list[str]:
    return [task.text for task in phase.tasks]
