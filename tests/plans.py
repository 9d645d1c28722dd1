"""Plans, strategies for ops, and sessions, for tests."""

import itertools

from hypothesis import strategies as st

from tildone.base import replace
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import Dialect
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.faults import MissingField
from tildone.plan.gate import Patience
from tildone.plan.model import (
    Check,
    Focus,
    Phase,
    Plan,
    Proof,
    Result,
    Rules,
    Status,
    Task,
    Unit,
    assign_numbers,
    flat,
    numbered,
)
from tildone.plan.ops import (
    Append,
    At,
    Everything,
    InPhase,
    Insert,
    Mark,
    Move,
    Named,
    Note,
    Numbered,
    Order,
    Remove,
    Rename,
    SetCheck,
    StartNext,
    Touch,
    Write,
)
from tildone.stores.memory import MemoryStore

PENDING, IN_PROGRESS, COMPLETED, ABANDONED, BLOCKED = Status


def plan_of(*texts: str) -> Plan:
    """A flat plan of pending tasks, numbered from 1."""
    return numbered(flat(*map(Task, texts)))


def unnumbered_plan_of(*texts: str) -> Plan:
    """A flat plan of pending tasks without numbers, as other programs write it."""
    return flat(*map(Task, texts))


def session_on(
    store: Store | None = None,
    dialect: Dialect = INDEXED,
    *,
    name: str = "s",
    patience: Patience | None = None,
    prefix: str = "e",
) -> Session:
    """A session whose clock and ids count up."""
    clock, ids = itertools.count(1000), itertools.count()
    store, patience = store if store is not None else MemoryStore(), patience or Patience()
    return Session(
        store, name, dialect, now=lambda: next(clock), new_id=lambda: f"{prefix}{next(ids)}", patience=patience
    )


texts = st.sampled_from(["a", "b", "c", "", "two words", "line\nbreak", "😀" * 3, "x" * 12])
names = st.sampled_from(["", "A", "B", "C"])
statuses = st.sampled_from(Status)
tasks = st.builds(Task, texts, statuses, st.lists(texts, max_size=2).map(tuple))
fresh_tasks = st.builds(Task, texts)
phases = st.builds(Phase, names, st.lists(tasks, max_size=4).map(tuple))
plans = st.builds(Plan, st.lists(phases, max_size=3).map(tuple))
numbered_plans = plans.map(lambda plan: assign_numbers(Plan(last_number=2), plan))
rules = st.builds(
    Rules,
    focus=st.sampled_from(Focus),
    max_tasks=st.sampled_from([None, 3, 8]),
    max_text=st.sampled_from([None, 4, 9]),
    text_unit=st.sampled_from(Unit),
    unique_texts=st.booleans(),
    atomic=st.booleans(),
)
positions = st.builds(At, st.lists(st.integers(-2, 12), max_size=3).map(tuple))
numbers = st.builds(Numbered, st.lists(st.integers(0, 6), max_size=3).map(tuple))
selectors = st.one_of(positions, numbers, st.builds(Named, texts), st.builds(InPhase, names), st.just(Everything()))
ops = st.one_of(
    st.builds(Write, st.lists(phases, max_size=3).map(tuple)),
    st.builds(Append, st.lists(fresh_tasks, max_size=3).map(tuple), st.none() | names, st.booleans()),
    st.builds(Insert, st.lists(fresh_tasks, max_size=3).map(tuple), st.integers(-2, 12)),
    st.builds(Mark, selectors, statuses),
    st.builds(Move, selectors, st.none() | selectors, st.none() | names),
    st.builds(Rename, st.builds(Named, texts) | positions | numbers, texts),
    st.builds(Remove, selectors),
    st.builds(Note, st.builds(Named, texts) | positions | numbers, texts),
)
steps = st.lists(st.one_of(ops, st.just(MissingField("task", "start"))), max_size=5)

commands = st.sampled_from([("pytest", "-q"), ("make", "a b"), ("sh", "-c", "test -e 'x' # y"), ("true",), ()])
globs = st.lists(st.sampled_from(["src", "src/*.py", "**", "a b", "[x]?"]), max_size=2).map(tuple)
checks = st.builds(
    Check, commands, st.sampled_from(["", "sub dir"]), st.sampled_from([120, 5]), st.sampled_from([0, 2]), globs
)
proofs = st.builds(Proof, st.sampled_from(Result), commands, st.sampled_from(["", "d1", "d2"]))
earlier = st.lists(st.integers(0, 5), max_size=2).map(tuple)
checked_tasks = st.builds(
    Task, texts, statuses, number=st.integers(0, 4), check=st.none() | checks, after=earlier, touches=globs
)
whole_proofs = st.builds(
    Proof,
    *(st.sampled_from(Result), commands, *[st.sampled_from(["", "d1"])] * 2, st.none() | st.integers(-9, 9)),
    *(texts, *[st.integers(0, 99)] * 2, *[texts] * 2),
    program=st.sampled_from(["", "/bin/make"]),
    imported=st.booleans(),
)
proved_tasks = st.builds(
    lambda task, proof: replace(task, proof=proof if task.check else None), checked_tasks, st.none() | whole_proofs
)
proved_plans = st.builds(
    lambda tasks, check, proof: Plan((Phase("P", tuple(tasks)),), 9, check, proof if check else None),
    st.lists(proved_tasks, max_size=3),
    st.none() | checks,
    st.none() | whole_proofs,
)
"""Plans whose tasks have checks and proofs, in any combination."""

checked_phases = st.builds(Phase, names, st.lists(checked_tasks, max_size=3).map(tuple))
single = st.builds(Named, texts) | positions | numbers
checked_ops = st.one_of(
    ops,
    st.builds(Mark, selectors, st.just(Status.COMPLETED)),
    st.builds(Write, st.lists(checked_phases, max_size=2).map(tuple)),
    st.builds(Append, st.lists(checked_tasks, max_size=2).map(tuple), st.none() | names, st.booleans()),
    st.builds(Insert, st.lists(checked_tasks, max_size=2).map(tuple), st.integers(-1, 5)),
    st.builds(SetCheck, st.none() | single, st.none() | checks),
    st.builds(Order, single, st.lists(st.integers(0, 6), max_size=3).map(tuple)),
    st.builds(Touch, selectors, globs),
    st.just(StartNext()),
)
"""All ops, also on checks, the order and the files of tasks."""

batches = st.lists(st.tuples(st.lists(checked_ops, max_size=4), st.dictionaries(st.integers(0, 4), proofs)), max_size=5)
"""Batches of ops, each with the proofs of checks that were run for it."""
