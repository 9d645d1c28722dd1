"""Trust: what the settings file of a project may do before a person has trusted it, and after."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trusted import Project, trust
from tildone.app.settings import data_folder, load, load_valid, origins
from tildone.app.settings_file import MAX_BYTES, is_trusted, revoke, set_trusted
from tildone.app.values import AMOUNTS, FLOORS, KEYS, LIMITS
from tildone.plan.gate import Patience

LOOSE = {name: (getattr(Patience(), LIMITS[name]) or 999_999) + 1 for name in LIMITS}
"""Every bound, looser than its default."""

EVERYTHING = f"""{"".join(f"{name} = {limit}{chr(10)}" for name, limit in LOOSE.items())}
store = "planted.db"
session = "another"
dialect = "phased"
model = "openai-chat:evil"
session_dir = "here"
user = "root"
countdown = 0
claim_seconds = 5
gate = "off"
accessible = true
theme = "light"
keys."watch.stop" = "f6"
"todo.enabled" = false
"todo.reminders" = false
"todo.reminders.max" = 99
"tasks.todoClearDelay" = 0
extensions = ["planted.py"]

[prices]
qwen3 = {{ input = 0, output = 0 }}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_untrusted_file_sets_nothing_but_the_dialect(project: Project) -> None:
    default = project.load()
    project.has(EVERYTHING)

    settings = project.load()

    changed = {name for name in type(settings).__match_args__ if getattr(settings, name) != getattr(default, name)}
    # A budget is stricter than none.
    budgets = {"max_cost", "max_tokens", "max_task_cost", "max_task_tokens", "max_task_minutes"}
    assert changed == {"dialect", *budgets, "untrusted"}
    assert settings.dialect == "phased"
    assert set(KEYS) - set(settings.untrusted) == {"dialect", *budgets}
    assert {"prices", "todo.enabled", "tasks.todoClearDelay", "extensions", "keys"} <= set(settings.untrusted)


def test_a_trusted_file_sets_everything(project: Project) -> None:
    project.trusted(EVERYTHING)

    settings = project.load()

    assert settings.store.location == str(project.folder / "planted.db")
    assert settings.extensions == ((str(project.folder / "planted.py"), str(project.file)),)
    assert (settings.session, settings.model, settings.user) == ("another", "openai-chat:evil", "root")
    assert not settings.gate
    assert [getattr(settings, name) for name in LIMITS] == list(LOOSE.values())
    assert (settings.countdown, len(settings.phases), len(settings.prices), settings.untrusted) == (0, 4, 1, ())


@pytest.mark.parametrize("name", LIMITS)
def test_an_untrusted_file_can_lower_each_bound_and_raise_none(project: Project, name: str) -> None:
    default, floor = getattr(Patience(), LIMITS[name]), FLOORS[name]
    limit = 1_000_000 if default is None else default

    for person, given, in_force in [
        (None, limit - 1, limit - 1),
        (None, limit + 1, limit + 1 if default is None else None),
        (floor + 2, floor + 1, floor + 1),
        (floor + 2, floor + 3, floor + 2),
        (limit + 10, limit + 5, limit + 5),
        (limit + 10, limit + 11, limit + 10),
    ]:
        project.own("" if person is None else f"{name} = {person}\n")
        project.has(f"{name} = {given}\n")

        assert getattr(project.load(), name) == in_force


@pytest.mark.parametrize("name", LIMITS)
def test_an_untrusted_file_leaves_something_of_each_bound(project: Project, name: str) -> None:
    """A bound of 0 would let every agent go at its first stop. The person is told that it does not apply."""
    floor = FLOORS[name]

    for person, given, in_force in [
        (None, floor, floor),
        (None, floor / 2 if name in AMOUNTS else floor - 1, None),
        (None, 0, None),
        (1, 0, 1),
    ]:
        project.own("" if person is None else f"{name} = {person}\n")
        project.has(f"{name} = {given}\n")
        settings = project.load()

        assert getattr(settings, name) == in_force
        assert settings.untrusted == (() if given == floor else (name,))
    project.trusted(f"{name} = 0\n")
    assert getattr(project.load(), name) == 0


@pytest.mark.parametrize("name", LIMITS)
def test_a_trusted_file_raises_a_default_but_no_bound_of_the_person(project: Project, name: str) -> None:
    project.trusted(f"{name} = 100000\n")
    raised = getattr(project.load(), name)
    project.own(f"{name} = 3\n")
    bounded = getattr(project.load(), name)
    project.trusted(f"{name} = 2\n")

    assert (raised, bounded, getattr(project.load(), name)) == (100000, 3, 2)


def test_the_environment_and_flags_are_the_persons_own(project: Project) -> None:
    project.has("max_nudges = 2\n")

    by_variable = project.load(TILDONE_MAX_NUDGES="99")
    by_flag = project.load({"max-nudges": "98"})

    assert (by_variable.max_nudges, by_flag.max_nudges) == (99, 98)


def test_trust_ends_with_the_first_change_of_the_file(project: Project) -> None:
    project.trusted('session = "ours"\n')
    trusted = project.load().session
    project.has('session = "ours"\n\n')
    changed = project.load()
    project.has('session = "ours"\n')

    assert (trusted, changed.session, changed.untrusted) == ("ours", str(project.folder), ("session",))
    assert project.load().session == "ours"


def test_a_record_with_the_name_of_another_path_is_no_trust(project: Project) -> None:
    """Names of records are shortened, so that two paths may have the same one; then only the last has trust."""
    data = data_folder(project.home)
    # "plumless" and "buckeroo" are the best known words with the same CRC-32, which stays the same with a common end.
    one, other = (f"/{word}/{'x' * 100}" for word in ("plumless", "buckeroo"))

    set_trusted(data, one, b"x")
    assert (is_trusted(data, one, b"x"), is_trusted(data, other, b"x")) == (True, False)
    set_trusted(data, other, b"x")

    assert (is_trusted(data, one, b"x"), is_trusted(data, other, b"x")) == (False, True)


def test_trust_is_for_one_path_and_gone_when_it_is_revoked(project: Project, tmp_path: Path) -> None:
    project.trusted('session = "ours"\n')
    data, path = data_folder(project.home), str(project.file.resolve())
    other = tmp_path / "project2" / "tildone.toml"
    other.parent.mkdir()
    other.write_bytes(project.file.read_bytes())
    assert load({}, project.home, str(other.parent)).untrusted == ("session",)

    assert (revoke(data, path), revoke(data, path)) == (True, False)
    assert project.load().untrusted == ("session",)


def test_an_untrusted_file_breaks_nothing(project: Project) -> None:
    """Its mistakes are not errors: whoever wrote it can't stop tildone from working. Those of a trusted one are."""
    for content in (b"max_nudges = [", b"\xff", b"x = " + b"[" * 50_000, b"x = " + b"9" * 5000, b"colour = 1\n"):
        project.has(content)
        settings, problems = load_valid({}, project.home, str(project.folder))

        assert (settings.untrusted, problems) == (("all settings",), [])
    project.trusted(b"x = " + b"[" * 50_000)
    problems = load_valid({}, project.home, str(project.folder))[1]
    assert problems == [f"{project.file}: the values are nested too deeply"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize(
    "make",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/nowhere"), lambda path: path.symlink_to("/dev/zero")],
    ids=["pipe", "folder", "link that leads nowhere", "endless device"],
)
def test_a_pipe_or_a_folder_in_place_of_the_file_blocks_nothing(project: Project, make: Callable[[Path], None]) -> None:
    make(project.file)

    assert load_valid({}, project.home, str(project.folder))[0].untrusted == ("all settings",)


def test_a_file_that_is_too_large_is_not_read(project: Project) -> None:
    project.has(b'dialect = "phased"\n' + b"#" * (MAX_BYTES - 19))
    largest = project.load().dialect
    project.has(b'dialect = "phased"\n' + b"#" * (MAX_BYTES - 18))

    assert (largest, project.load().dialect) == ("phased", None)


def test_origins_name_a_file_only_for_settings_that_apply(project: Project) -> None:
    project.has('store = "planted.db"\ndialect = "brief"\n')
    untrusted = origins({}, project.home, str(project.folder))
    trust(project.file, project.home)

    assert untrusted == {"dialect": str(project.file)}
    assert origins({}, project.home, str(project.folder)) == dict.fromkeys(("dialect", "store"), str(project.file))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_records_are_private(project: Project) -> None:
    before = os.umask(0)
    try:
        set_trusted(data_folder(project.home), "/p/tildone.toml", b"")
    finally:
        os.umask(before)

    made = list(Path(project.home["XDG_DATA_HOME"]).rglob("*"))
    assert len(made) == 3
    assert not [path for path in made if path.stat().st_mode & 0o077]


def test_the_page_of_bounds_has_the_floors() -> None:
    page = Path(__file__).parents[1] / "docs" / "reference" / "bounds.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "| `max_" in line]

    assert sorted(FLOORS) == sorted(row.split("`")[1] for row in rows)
    for row in rows:
        assert row.endswith(f"| {FLOORS[row.split('`')[1]]:,} |"), row
