"""Settings: their precedence, and errors that name the file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trusted import own_file, write_own, write_trusted
from tildone.app.settings import load, load_valid
from tildone.base import UsageError, shortened


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment that points to empty folders."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def test_every_folder_of_a_project_has_the_same_session(project: Path, tmp_path: Path, home: dict[str, str]) -> None:
    """A worktree, in which `.git` is a file, is a project of its own, and so is a folder without a repository."""
    deep, worktree, plain = project / "src" / "deep", project / "worktree", tmp_path / "plain" / "folder"
    for folder in (deep, worktree, plain):
        folder.mkdir(parents=True)
    (worktree / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(project)

    for folder, root in ((deep, project), (worktree, worktree), (plain, plain), (tmp_path / "link", project)):
        settings = load({}, home, str(folder))
        assert (settings.session, settings.project) == (str(root.resolve()), str(root.resolve()))


def test_settings_have_an_order_of_precedence(project: Path, home: dict[str, str]) -> None:
    """A flag, then the environment, then the project's file, then the user's file."""
    write_own(home, 'session = "user"\n')
    sessions = [load({}, home, str(project)).session]
    write_trusted(project / "tildone.toml", 'session = "project"\n', home)
    sessions.append(load({}, home, str(project)).session)
    sessions.append(load({}, home | {"TILDONE_SESSION": "environment"}, str(project)).session)
    sessions.append(load({"session": "flag"}, home | {"TILDONE_SESSION": "environment"}, str(project)).session)

    assert sessions == ["user", "project", "environment", "flag"]


def test_an_empty_variable_is_ignored(project: Path, home: dict[str, str]) -> None:
    settings = load({}, home | {"TILDONE_STORE": "", "TILDONE_SESSION": "", "TILDONE_DIALECT": ""}, str(project))

    assert settings == load({}, home, str(project))
    assert settings.dialect is None


def test_a_path_is_relative_to_the_file_that_contains_it(project: Path, home: dict[str, str]) -> None:
    write_own(home, 'store = "own.db"\n')
    of_user = str(load({}, home, str(project)).store)
    write_trusted(project / "tildone.toml", 'store = "../shared.db"\n', home)
    of_project = str(load({}, home, str(project)).store)
    of_flag = str(load({"store": "here.db"}, home, str(project)).store)

    assert of_user == str(own_file(home).with_name("own.db"))
    assert of_project == str(project.parent / "shared.db")
    assert of_flag == str(project / "here.db")


def test_a_tilde_is_expanded_and_an_address_is_unchanged(project: Path, home: dict[str, str]) -> None:
    assert str(load({"store": "~/x.db"}, home, str(project)).store) == os.path.expanduser(os.path.join("~", "x.db"))
    assert str(load({"store": "postgresql://h/db"}, home, str(project)).store) == "postgresql://h/db"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('stor = "x"', ", line 1: there is no setting 'stor'; did you mean 'store'?"),
        ("# mine\n\ncolour = 1", ", line 3: there is no setting 'colour'; known are store, session, dialect"),
        ("session = 3", ", line 1: session must be a non-empty string in quotes"),
        ('session = ""', ", line 1: session must be a non-empty string in quotes"),
        ("[store]\npath = 1", ", line 1: store must be a non-empty string in quotes"),
        ('store = "jsonl:"', ", line 1: jsonl: needs a path after the colon"),
        ("session = \n", ": Invalid value (at line 1, column 11)"),
        (b"\xff", ": the file is not UTF-8 text"),
    ],
)
def test_an_invalid_file_is_reported_with_its_path_and_the_problem(
    project: Path, home: dict[str, str], text: str | bytes, complaint: str
) -> None:
    file = project / "tildone.toml"
    write_trusted(file, text, home)

    with pytest.raises(UsageError) as caught:
        load({}, home, str(project))

    assert str(caught.value).startswith(f"{file.resolve()}{complaint}")


def test_valid_settings_apply_beside_invalid_ones(project: Path, home: dict[str, str]) -> None:
    """For a program that reports all of them: each invalid setting is named once, and has its default."""
    write_own(home, "countdown = 7\nmax_nudges = -1\n")
    write_trusted(project / "tildone.toml", 'gate = "shut"\nsession = "ours"\n', home)
    environ = home | {"TILDONE_MAX_SAME": "many", "TILDONE_MAX_MINUTES": "9", "TILDONE_MAX_TOTAL": "9" * 5000}

    settings, problems = load_valid({"max-cost": "much"}, environ, str(project))

    assert (settings.countdown, settings.session, settings.max_minutes) == (7, "ours", 9)
    assert (settings.max_nudges, settings.gate, settings.max_same, settings.max_cost) == (None, True, None, None)
    assert problems == [
        f"{own_file(home)}, line 2: max_nudges must be a whole number, 0 or more",
        f'{project / "tildone.toml"}, line 1: gate must be "on" or "off"',
        "$TILDONE_MAX_SAME: max-same must be a whole number, 0 or more, not 'many'",
        f"$TILDONE_MAX_TOTAL: max-total must be a whole number, 0 or more, not {shortened('9' * 5000)!r}",
        "max-cost must be a number of dollars, 0 or more, not 'much'",
    ]


def test_a_byte_order_mark_is_no_part_of_the_settings_and_a_file_that_cannot_be_opened_is_an_error(
    project: Path, home: dict[str, str]
) -> None:
    write_trusted(project / "tildone.toml", b'\xef\xbb\xbfsession = "ours"\r\n', home)
    assert load({}, home, str(project)).session == "ours"
    own_file(home).mkdir(parents=True)

    with pytest.raises(UsageError, match=r"config\.toml: "):
        load({}, home, str(project))


@pytest.mark.parametrize(
    ("platform", "environ", "end"),
    [
        ("linux", {}, "~/.local/share/tildone/tildone.db"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/tildone/tildone.db"),
        ("darwin", {}, "~/Library/Application Support/tildone/tildone.db"),
        ("win32", {"LOCALAPPDATA": "/Local"}, "/Local/tildone/tildone.db"),
        ("win32", {}, r"~\AppData\Local/tildone/tildone.db"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the paths are written for POSIX")
def test_the_data_folder_follows_the_conventions_of_the_platform(
    platform: str, environ: dict[str, str], end: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    store = str(load({}, environ | {"XDG_CONFIG_HOME": "/nowhere", "APPDATA": "/nowhere"}, str(project)).store)

    assert store == os.path.abspath(os.path.join(project, os.path.expanduser(end)))


def test_without_a_settings_file_no_toml_parser_is_imported(project: Path, home: dict[str, str]) -> None:
    """Importing it would take longer than the rest of a command."""
    program = f"import sys; from tildone.app.settings import load; load({{}}, {home!r}, {str(project)!r})"
    asked = f"{program}; print({{'tomllib', 'difflib', 'tildone.app.settings_file'}} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"


def test_prices_of_models_are_in_a_table(project: Path, home: dict[str, str]) -> None:
    write_trusted(project / "tildone.toml", '[prices]\n"qwen3" = { input = 0.5, output = 1, cache_read = 0 }\n', home)

    assert load({}, home, str(project)).prices == (("qwen3", {"input": 0.5, "output": 1, "cache_read": 0}),)


@pytest.mark.parametrize(
    "text",
    [
        "prices = 3",
        "[prices]\nqwen3 = 3",
        "[prices]\nqwen3 = { input = 3 }",
        "[prices]\nqwen3 = { input = 3, output = -1 }",
        "[prices]\nqwen3 = { input = 3, output = 1, cached = 1 }",
    ],
)
def test_a_wrong_price_is_an_error_that_shows_the_form(project: Path, home: dict[str, str], text: str) -> None:
    write_trusted(project / "tildone.toml", text, home)

    with pytest.raises(UsageError, match=r"in \[prices\], write .* = \{ input = 3\.0, output = 15\.0 \}"):
        load({}, home, str(project))


def test_a_person_has_keys_and_a_theme_of_their_own_and_a_project_has_no_keys_even_if_it_is_trusted(
    project: Path, home: dict[str, str]
) -> None:
    write_trusted(project / "tildone.toml", 'keys."watch.stop" = "f6"\n', home)
    assert load({}, home, str(project)).keys == ()
    write_own(home, 'theme = "safe-light"\nkeys."app.tools.expand" = "f6"\nkeys."task.toggle" = "t, f7"\n')

    assert load({}, home, str(project)).theme == "safe-light"
    assert load({}, home, str(project)).keys == (("app.tools.expand", "f6"), ("task.toggle", "t, f7"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('keys."task.togle" = "t"', "there is no action 'task.togle' in keys; did you mean 'task.toggle'?"),
        ('keys."task.toggle" = "F6"', "keys.\"task.toggle\": 'F6' is not the name of a key"),
        ('keys."task.toggle" = "t,"', "keys.\"task.toggle\": '' is not the name of a key"),
        ('keys."task.toggle" = "x"', 'keys."task.toggle": x is the key of task.drop, too'),
        ('keys.task.toggle = "t"', "keys must name actions, in quotes"),
        ("keys = 3", "keys must name actions, in quotes"),
        ('theme = "blue"', 'theme must be "dark", "light", "safe-dark", "safe-light" or "terminal"'),
    ],
)
def test_a_wrong_key_is_an_error_that_names_the_file_and_the_action(
    project: Path, home: dict[str, str], text: str, problem: str
) -> None:
    path = write_own(home, text)

    with pytest.raises(UsageError) as caught:
        load({}, home, str(project))
    assert str(caught.value).startswith(path)
    assert problem in str(caught.value)


def test_only_the_persons_own_file_allows_commands_as_checks(project: Path, home: dict[str, str]) -> None:
    write_trusted(project / "tildone.toml", 'check_allow = ["make *"]\n', home)
    by_project = load({}, home, str(project)).check_allow
    write_own(home, 'check_allow = ["pytest *", "npm test"]\n')

    assert by_project == ()
    assert load({}, home, str(project)).check_allow == ("pytest *", "npm test")


@pytest.mark.parametrize(("text", "allowed"), [("make *\nls", ("make *", "ls")), ("", ())])
def test_a_worker_names_the_allowed_checks_in_place_of_the_person(
    text: str, allowed: tuple[str, ...], project: Path, home: dict[str, str]
) -> None:
    write_own(home, 'check_allow = ["pytest *"]\n')
    by_worker = {**home, "TILDONE_CHECK_ALLOW": text, "TILDONE_LEASE": "nightly/0/1"}

    assert load({}, by_worker, str(project)).check_allow == allowed
    # It does not count elsewhere: an agent could set it in its shell.
    elsewhere = {**home, "TILDONE_CHECK_ALLOW": "*"}
    assert load({}, elsewhere, str(project)).check_allow == ("pytest *",)


@pytest.mark.parametrize("text", ['"pytest"', "[3]", '[""]', '["*"]', '["* *"]'])
def test_what_allows_every_command_is_no_pattern(project: Path, home: dict[str, str], text: str) -> None:
    write_own(home, f"check_allow = {text}")

    with pytest.raises(UsageError, match=r"line 1: check_allow must be a list of patterns of commands: \["):
        load({}, home, str(project))


def test_a_screen_reader_is_a_switch(project: Path, home: dict[str, str]) -> None:
    """It is true or false, in a file and in the environment."""
    assert not load({}, home, str(project)).accessible
    assert load({}, {**home, "TILDONE_ACCESSIBLE": "true"}, str(project)).accessible
    with pytest.raises(UsageError, match="accessible must be true or false, not 'yes'"):
        load({}, {**home, "TILDONE_ACCESSIBLE": "yes"}, str(project))
    write_own(home, "accessible = true\n")
    assert load({}, home, str(project)).accessible
    write_own(home, 'accessible = "yes"\n')
    with pytest.raises(UsageError, match="accessible must be true or false"):
        load({}, home, str(project))
