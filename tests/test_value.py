"""Records are frozen, compare by what they hold, and read well."""

import copy
import pickle

import pytest

from tildone.core.plan import Phase, Status, Task
from tildone.value import replace, value


@value
class Nothing:
    """No fields."""


@value
class One:
    """One field."""

    only: int


@value
class Other:
    """Like One, but another class."""

    only: int


def test_a_record_takes_its_fields_by_position_and_by_name_with_defaults() -> None:
    """The signature is the list of annotated fields."""
    assert Task("a", notes=("n",)) == Task(text="a", status=Status.PENDING, notes=("n",))


def test_a_missing_field_is_refused() -> None:
    """A field without a default has to be given."""
    with pytest.raises(TypeError, match="text"):
        Task()  # type: ignore[call-arg]  # what the test is about


def test_a_record_cannot_be_changed() -> None:
    """Neither set nor delete, and there is no room for new attributes."""
    task = Task("a")

    with pytest.raises(AttributeError, match="frozen"):
        task.text = "b"  # type: ignore[misc]  # what the test is about
    with pytest.raises(AttributeError, match="frozen"):
        del task.text
    with pytest.raises(AttributeError, match="frozen"):
        task.extra = 1  # type: ignore[attr-defined]  # what the test is about
    assert task == Task("a")
    assert not hasattr(task, "__dict__")


def test_records_of_different_classes_are_never_equal() -> None:
    """Unlike tuples: a Rest is not a GiveUp because both hold a 1."""
    assert One(1) == One(1)
    assert One(1) != One(2)
    assert One(1) != Other(1)  # type: ignore[comparison-overlap]  # what the test is about
    assert One(1) != (1,)  # type: ignore[comparison-overlap]  # what the test is about
    assert Nothing() == Nothing()


def test_equal_records_have_equal_hashes() -> None:
    """Records can be members of sets and keys."""
    assert len({One(1), One(1), Other(1), Nothing(), Nothing()}) == 3


def test_a_record_shows_its_fields() -> None:
    """The repr is what one would type."""
    assert repr(Phase("A", ())) == "Phase(name='A', tasks=())"
    assert repr(Nothing()) == "Nothing()"


def test_but_changes_only_what_it_is_told() -> None:
    """The original is left alone."""
    task = Task("a", Status.COMPLETED, ("n",))

    changed = replace(task, text="b")

    assert changed == Task("b", Status.COMPLETED, ("n",))
    assert task.text == "a"


def test_records_survive_pickle_and_copy() -> None:
    """They travel between processes."""
    task = Task("a", Status.COMPLETED, ("n",))

    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  our own bytes
    assert copy.deepcopy(One(3)) == One(3)


def test_a_record_can_be_matched_by_position() -> None:
    """`match` takes fields in their order."""
    match Task("a", Status.ABANDONED):
        case Task(text, status):
            assert (text, status) == ("a", Status.ABANDONED)


def test_records_made_before_and_after_init_is_compiled_are_alike() -> None:
    """The first few are made without compiling; arguments are checked just the same."""

    @value
    class Point:
        """Two fields."""

        x: int
        y: int = 0

    made = [Point(1, y=number % 2) for number in range(20)]

    assert made == [Point(x=1, y=number % 2) for number in range(20)]


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1, "z": 1})]
)
def test_arguments_that_do_not_fit_are_refused_from_the_first_record_on(
    args: tuple[int, ...], named: dict[str, int]
) -> None:
    @value
    class Point:
        """Two fields."""

        x: int
        y: int = 0

    with pytest.raises(TypeError, match="argument"):
        Point(*args, **named)
