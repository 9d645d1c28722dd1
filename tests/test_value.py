"""Records are frozen and compare by value."""

import copy
import pickle

import pytest

from tildone.base import replace, value
from tildone.plan.model import Phase, Status, Task


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
    """A field without a default is required."""
    with pytest.raises(TypeError, match="text"):
        Task()  # type: ignore[call-arg]  # what the test is about


def test_a_record_cannot_be_changed() -> None:
    """Attributes can be neither set nor deleted nor added."""
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
    """Unlike tuples."""
    assert One(1) == One(1)
    assert One(1) != One(2)
    assert One(1) != Other(1)  # type: ignore[comparison-overlap]  # what the test is about
    assert One(1) != (1,)  # type: ignore[comparison-overlap]  # what the test is about
    assert Nothing() == Nothing()


def test_equal_records_have_equal_hashes() -> None:
    """Records can be members of sets and keys of dictionaries."""
    assert len({One(1), One(1), Other(1), Nothing(), Nothing()}) == 3


def test_the_repr_is_a_constructor_call() -> None:
    assert repr(Phase("A", ())) == "Phase(name='A', tasks=())"
    assert repr(Nothing()) == "Nothing()"


def test_replace_changes_only_the_given_fields() -> None:
    """The original is unchanged."""
    task = Task("a", Status.COMPLETED, ("n",))

    changed = replace(task, text="b")

    assert changed == Task("b", Status.COMPLETED, ("n",))
    assert task.text == "a"


def test_records_survive_pickle_and_copy() -> None:
    task = Task("a", Status.COMPLETED, ("n",))

    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  our own bytes
    assert copy.deepcopy(One(3)) == One(3)


def test_a_record_can_be_matched_by_position() -> None:
    match Task("a", Status.ABANDONED):
        case Task(text, status):
            assert (text, status) == ("a", Status.ABANDONED)


def test_records_made_before_and_after_init_is_compiled_are_alike() -> None:
    """The arguments are checked in both cases."""

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
def test_invalid_arguments_are_refused_from_the_first_record_on(args: tuple[int, ...], named: dict[str, int]) -> None:
    @value
    class Point:
        """Two fields."""

        x: int
        y: int = 0

    with pytest.raises(TypeError, match="argument"):
        Point(*args, **named)


@value
class Even:
    """A record that checks itself."""

    number: int

    def __check__(self) -> None:
        if self.number % 2:
            raise ValueError(self.number)


def test_a_record_that_checks_itself_exists_only_with_what_is_allowed() -> None:
    """Also once its `__init__` is compiled, and as a changed copy."""
    for number in range(0, 40, 2):
        with pytest.raises(ValueError, match=str(number + 1)):
            Even(number + 1)
        with pytest.raises(ValueError, match=str(number + 1)):
            replace(Even(number), number=number + 1)
