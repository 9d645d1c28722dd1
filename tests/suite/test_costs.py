"""What tests cost is summed up by folder, and a folder over its budget is named with its most expensive tests."""

from pathlib import Path

from tests.suite import costs


def test_a_folder_over_its_budget_is_listed_with_its_ten_most_expensive_tests() -> None:
    expensive = {f"tests/core/test_plan.py::test_{number}": (float(number), 1.0) for number in range(12)}
    lines = costs.table({**expensive, "tests/web/browser/test_fleet.py::test_page": (1.5, 2.25)})

    assert "tests/core                   12    66.0    12.0       8" in lines
    assert "tests/web/browser             1     1.5     2.2      50" in lines
    at = lines.index("warning: tests/core is over its budget; its most expensive tests:")
    assert lines[at + 1] == "    11.0 CPU s  tests/core/test_plan.py::test_11"
    assert [line for line in lines if "CPU s  tests/" in line] == lines[at + 1 : at + 11]
    assert not any("warning: tests/web" in line for line in lines)


def test_every_folder_of_tests_has_a_budget_and_every_budget_a_folder() -> None:
    root = Path(__file__).parents[2]
    folders = {
        folder.relative_to(root).as_posix() for folder in (root / "tests").iterdir() if any(folder.glob("**/test_*.py"))
    }

    assert folders - set(costs.BUDGETS) == set()
    assert [folder for folder in costs.BUDGETS if not (root / folder).is_dir()] == []
