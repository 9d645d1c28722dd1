"""The settings of runs: in files, in the environment and as flags."""

from pathlib import Path

import pytest

from tests.trusted import write_trusted
from tildone.app.settings import Settings, load
from tildone.base.errors import UsageError
from tildone.cli.parsing import ROOT, parse


def settled(folder: Path, toml: str = "", flags: dict[str, str] | None = None, **environ: str) -> Settings:
    homes = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}
    write_trusted(folder / "tildone.toml", toml, homes)
    return load(flags or {}, homes | environ, str(folder))


def test_every_run_setting_has_a_default(tmp_path: Path) -> None:
    settings = settled(tmp_path)

    assert (settings.model, settings.max_nudges, settings.countdown, settings.phases) == (None, None, 3, ())
    assert Path(settings.session_dir).parent == tmp_path / "data" / "tildone" / "sessions"


def test_numbers_are_read_from_files_environment_and_flags(tmp_path: Path) -> None:
    toml = "countdown = 5\nmax_nudges = 7\n"

    said = [
        settled(tmp_path, toml),
        settled(tmp_path, toml, TILDONE_COUNTDOWN="0"),
        settled(tmp_path, toml, {"max-nudges": "9"}, TILDONE_MAX_NUDGES="8"),
    ]

    assert [(settings.countdown, settings.max_nudges) for settings in said] == [(5, 7), (0, 7), (5, 9)]


@pytest.mark.parametrize("held", ['"3"', "-1", "true", "2.5"])
def test_a_value_that_is_not_a_number_is_refused(tmp_path: Path, held: str) -> None:
    with pytest.raises(UsageError, match="countdown must be a whole number, 0 or more"):
        settled(tmp_path, f"countdown = {held}\n")


@pytest.mark.parametrize("said", ["three", "-1", "1.5"])
def test_text_that_is_not_a_number_is_refused(tmp_path: Path, said: str) -> None:
    with pytest.raises(UsageError, match=f"countdown must be a whole number, 0 or more, not '{said}'"):
        settled(tmp_path, TILDONE_COUNTDOWN=said)


def test_a_relative_folder_is_resolved_where_it_was_set(tmp_path: Path) -> None:
    said = [settled(tmp_path, 'session_dir = "kept"\n'), settled(tmp_path, TILDONE_SESSION_DIR="here")]

    assert [settings.session_dir for settings in said] == [str(tmp_path / "kept"), str(tmp_path / "here")]


def test_phased_settings_have_their_own_names_in_files(tmp_path: Path) -> None:
    settings = settled(tmp_path, '"todo.reminders.max" = 5\n"todo.enabled" = true\n')

    assert settings.phases == (("todo.enabled", True), ("todo.reminders.max", 5))


def test_an_option_may_be_given_several_times() -> None:
    typed = parse(ROOT, ["run", "--allow", "a *", "x", "--allow=b", "--model", "m", "--model", "n"])

    assert (typed.values("allow"), typed.values("mode"), typed.options["model"]) == (("a *", "b"), (), "n")
