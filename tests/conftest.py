"""What every test stands on: no test sees the person's own plans, and property tests do not race a clock."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Before anything imports it: what it asserts is told in full, too.
pytest.register_assert_rewrite("tests.stores.contract")

settings.register_profile("tildone", deadline=None, print_blob=True)
settings.load_profile("tildone")

HOMES = (
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)


@pytest.fixture(scope="session", autouse=True)
def _away_from_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point every folder a person's plans or settings could be in at an empty one."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("TILDONE_")]:
            patch.delenv(name)
        for name in HOMES:
            patch.setenv(name, home)
        yield
