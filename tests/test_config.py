"""Settings: their precedence, and errors that name the file."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trusted import Project, own_file
from tildone.app.settings import load, load_valid
from tildone.base import UsageError, shortened


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_every_folder_of_a_project_has_the_same_session(project: Project, tmp_path: Path) -> None:
    """A worktree, in which `.git` is a file, is a project of its own, and so is a folder without a repository."""
    top, plain = project.folder, tmp_path / "plain" / "folder"
    deep, worktree = top / "src" / "deep", top / "worktree"
    for folder in (deep, worktree, plain):
        folder.mkdir(parents=True)
    (worktree / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(top)

    for folder, root in ((deep, top), (worktree, worktree), (plain, plain), (tmp_path / "link", top)):
        settings = load({}, project.home, str(folder))
        assert (settings.session, settings.project) == (str(root.resolve()), str(root.resolve()))


def test_settings_have_an_order_of_precedence(project: Project) -> None:
    """A flag, then the environment, then the project's file, then the user's file."""
    project.own('session = "user"\n')
    sessions = [project.load().session]
    project.trusted('session = "project"\n')
    sessions.append(project.load().session)
    sessions.append(project.load(TILDONE_SESSION="environment").session)
    sessions.append(project.load({"session": "flag"}, TILDONE_SESSION="environment").session)

    assert sessions == ["user", "project", "environment", "flag"]


def test_an_empty_variable_is_ignored(project: Project) -> None:
    settings = project.load(TILDONE_STORE="", TILDONE_SESSION="", TILDONE_DIALECT="")

    assert (settings, settings.dialect) == (project.load(), None)


def test_a_path_is_relative_to_the_file_that_contains_it(project: Project) -> None:
    project.own('store = "own.db"\n')
    of_user = str(project.load().store)
    project.trusted('store = "../shared.db"\n')
    of_project = str(project.load().store)
    of_flag = str(project.load({"store": "here.db"}).store)

    assert of_user == str(own_file(project.home).with_name("own.db"))
    assert of_project == str(project.folder.parent / "shared.db")
    assert of_flag == str(project.folder / "here.db")


def test_a_tilde_is_expanded_and_an_address_is_unchanged(project: Project) -> None:
    assert str(project.load({"store": "~/x.db"}).store) == os.path.expanduser(os.path.join("~", "x.db"))
    assert str(project.load({"store": "postgresql://h/db"}).store) == "postgresql://h/db"


STRING = "must be a non-empty string in quotes"
PROBLEMS: list[tuple[str | bytes, str]] = [
    ('stor = "x"', ", line 1: there is no setting 'stor'; did you mean 'store'?"),
    ("# mine\n\ncolour = 1", ", line 3: there is no setting 'colour'; known are store, session, dialect"),
    *(("session = 3", f", line 1: session {STRING}"), ('session = ""', f", line 1: session {STRING}")),
    ("[store]\npath = 1", f", line 1: store {STRING}"),
    ('store = "jsonl:"', ", line 1: jsonl: needs a path after the colon"),
    *(("session = \n", ": Invalid value (at line 1, column 11)"), (b"\xff", ": the file is not UTF-8 text")),
]


def refused(project: Project) -> str:
    with pytest.raises(UsageError) as caught:
        project.load()
    return str(caught.value)


def test_an_invalid_file_is_reported_with_its_path_and_the_problem(project: Project) -> None:
    for text, problem in PROBLEMS:
        project.trusted(text)
        assert refused(project).startswith(f"{project.file.resolve()}{problem}")


def test_valid_settings_apply_beside_invalid_ones(project: Project) -> None:
    """For a program that reports all of them: each invalid setting is named once, and has its default."""
    project.own("countdown = 7\nmax_nudges = -1\n")
    project.trusted('gate = "shut"\nsession = "ours"\n')
    environ = {"TILDONE_MAX_SAME": "many", "TILDONE_MAX_MINUTES": "9", "TILDONE_MAX_TOTAL": "9" * 5000}

    settings, problems = load_valid({"max-cost": "much"}, project.home | environ, str(project.folder))

    assert (settings.countdown, settings.session, settings.max_minutes) == (7, "ours", 9)
    assert (settings.max_nudges, settings.gate, settings.max_same, settings.max_cost) == (None, True, None, None)
    assert problems == [
        f"{own_file(project.home)}, line 2: max_nudges must be a whole number, 0 or more",
        f'{project.file}, line 1: gate must be "on" or "off"',
        "$TILDONE_MAX_SAME: max-same must be a whole number, 0 or more, not 'many'",
        f"$TILDONE_MAX_TOTAL: max-total must be a whole number, 0 or more, not {shortened('9' * 5000)!r}",
        "max-cost must be a number of dollars, 0 or more, not 'much'",
    ]


def test_a_byte_order_mark_is_left_out_and_a_file_that_cannot_be_opened_is_an_error(project: Project) -> None:
    project.trusted(b'\xef\xbb\xbfsession = "ours"\r\n')
    assert project.load().session == "ours"
    own_file(project.home).mkdir(parents=True)

    with pytest.raises(UsageError, match=r"config\.toml: "):
        project.load()


DATA_FOLDERS: list[tuple[str, dict[str, str], str]] = [
    ("linux", {}, "~/.local/share/tildone/tildone.db"),
    ("linux", {"XDG_DATA_HOME": "/data"}, "/data/tildone/tildone.db"),
    ("darwin", {}, "~/Library/Application Support/tildone/tildone.db"),
    ("win32", {"LOCALAPPDATA": "/Local"}, "/Local/tildone/tildone.db"),
    ("win32", {}, r"~\AppData\Local/tildone/tildone.db"),
]


@pytest.mark.skipif(os.name == "nt", reason="the paths are written for POSIX")
def test_the_data_folder_follows_the_conventions_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for platform, environ, end in DATA_FOLDERS:
        monkeypatch.setattr(sys, "platform", platform)
        store = str(load({}, environ | {"XDG_CONFIG_HOME": "/nowhere", "APPDATA": "/nowhere"}, str(tmp_path)).store)
        assert store == os.path.abspath(os.path.join(tmp_path, os.path.expanduser(end)))


def test_without_a_settings_file_no_toml_parser_is_imported(project: Project) -> None:
    """Importing it would take longer than the rest of a command."""
    where = f"{project.home!r}, {str(project.folder)!r}"
    program = f"import sys; from tildone.app.settings import load; load({{}}, {where})"
    asked = f"{program}; print({{'tomllib', 'difflib', 'tildone.app.settings_file'}} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"


def test_prices_of_models_are_in_a_table(project: Project) -> None:
    project.trusted('[prices]\n"qwen3" = { input = 0.5, output = 1, cache_read = 0 }\n')

    assert project.load().prices == (("qwen3", {"input": 0.5, "output": 1, "cache_read": 0}),)


PRICES = ["3", "{ input = 3 }", "{ input = 3, output = -1 }", "{ input = 3, output = 1, cached = 1 }"]


def test_a_wrong_price_is_an_error_that_shows_the_form(project: Project) -> None:
    for text in ("prices = 3", *(f"[prices]\nqwen3 = {price}" for price in PRICES)):
        project.trusted(text)
        assert re.search(r"in \[prices\], write .* = \{ input = 3\.0, output = 15\.0 \}", refused(project)), text


def test_keys_and_a_theme_are_those_of_the_person_and_never_those_of_a_project(project: Project) -> None:
    project.trusted('keys."watch.stop" = "f10"\n')
    assert project.load().keys == ()
    project.own('theme = "safe-light"\nkeys."app.tools.expand" = "f10"\nkeys."task.toggle" = "t, f11"\n')

    assert project.load().theme == "safe-light"
    assert project.load().keys == (("app.tools.expand", "f10"), ("task.toggle", "t, f11"))


KEY = 'keys."task.toggle"'
WRONG_KEYS = {
    'keys."task.togle" = "t"': "there is no action 'task.togle' in keys; did you mean 'task.toggle'?",
    f'{KEY} = "F6"': f"{KEY}: 'F6' is not the name of a key",
    f'{KEY} = "t,"': f"{KEY}: '' is not the name of a key",
    f'{KEY} = "x"': f"{KEY}: x is the key of task.drop, too",
    'keys.task.toggle = "t"': "keys must name actions, in quotes",
    "keys = 3": "keys must name actions, in quotes",
    'theme = "blue"': 'theme must be "dark", "light", "safe-dark", "safe-light" or "terminal"',
}


def test_a_wrong_key_is_an_error_that_names_the_file_and_the_action(project: Project) -> None:
    for text, problem in WRONG_KEYS.items():
        path = project.own(text)
        assert (refused(project).startswith(path), problem in refused(project)) == (True, True), text


def test_only_the_persons_own_file_allows_commands_as_checks(project: Project) -> None:
    project.trusted('check_allow = ["make *"]\n')
    by_project = project.load().check_allow
    project.own('check_allow = ["pytest *", "npm test"]\n')

    assert by_project == ()
    assert project.load().check_allow == ("pytest *", "npm test")


def test_a_worker_names_the_allowed_checks_in_place_of_the_person(project: Project) -> None:
    project.own('check_allow = ["pytest *"]\n')

    for text, allowed in (("make *\nls", ("make *", "ls")), ("", ())):
        assert project.load(TILDONE_CHECK_ALLOW=text, TILDONE_LEASE="nightly/0/1").check_allow == allowed
    # It does not count elsewhere: an agent could set it in its shell.
    assert project.load(TILDONE_CHECK_ALLOW="*").check_allow == ("pytest *",)


def test_what_allows_every_command_is_no_pattern(project: Project) -> None:
    for text in ('"pytest"', "[3]", '[""]', '["*"]', '["* *"]'):
        project.own(f"check_allow = {text}")
        assert "line 1: check_allow must be a list of patterns of commands: [" in refused(project), text


def test_a_screen_reader_is_a_switch(project: Project) -> None:
    """It is true or false, in a file and in the environment."""
    assert (project.load().accessible, project.load(TILDONE_ACCESSIBLE="true").accessible) == (False, True)
    with pytest.raises(UsageError, match="accessible must be true or false, not 'yes'"):
        project.load(TILDONE_ACCESSIBLE="yes")
    project.own("accessible = true\n")
    assert project.load().accessible
    project.own('accessible = "yes"\n')
    assert "accessible must be true or false" in refused(project)
