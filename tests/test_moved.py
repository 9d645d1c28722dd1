"""Documented modules can still be imported under the names that they had."""

import subprocess
import sys

import pytest

from tildone.base.moved import MOVED

OLD_EXTENSION = """
from tildone.host.extension_api import ExtensionAPI
from tildone.kit.components import ToolBody
from tildone.kit.definition import ToolResult
from tildone.kit.signal import AbortSignal
import tildone.kit.wrapping as wrapping
import tildone.run.host, tildone.run.kit.definition, sys

print(ExtensionAPI is tildone.run.host.ExtensionAPI, AbortSignal is tildone.run.kit.definition.AbortSignal)
print(wrapping is tildone.run.kit.definition, tildone.run.kit.definition.__spec__.name)
"""


def test_an_extension_written_against_the_old_names_works() -> None:
    answer = subprocess.run([sys.executable, "-c", OLD_EXTENSION], capture_output=True, text=True, check=False)

    assert answer.stderr == ""
    assert answer.stdout.split() == ["True", "True", "True", "tildone.run.kit.definition"]


@pytest.mark.parametrize("old", MOVED)
def test_every_old_name_is_the_module_of_today(old: str) -> None:
    show = f"import sys, {old}; print(sys.modules[{old!r}].__name__)"

    answer = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == MOVED[old]


def test_other_modules_below_the_old_names_do_not_exist() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "import tildone.kit.nothing"], capture_output=True, text=True, check=False
    )

    assert "No module named 'tildone.kit.nothing'" in answer.stderr
