"""What everything stands on: records, ids, errors, hints that name commands, and components that are opened by name."""

import copy
import itertools
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import tildone
from tests.plans import plan_of
from tildone.app.opening import MAX_EVENTS_SEARCHED, dialect_of_session, open_session, open_store, session_in, store_at
from tildone.app.settings import Settings
from tildone.base import UsageError, closest, distribution, nearest, replace, shortened, value
from tildone.base.distribution import install_extra
from tildone.base.ids import ID_LENGTH, id_maker
from tildone.plan.dialects import BY_HAND, dialect_named
from tildone.plan.events import Actor
from tildone.plan.model import Phase, Rules, Status, Task
from tildone.plan.ops import Write
from tildone.stores import parse_address
from tildone.stores.memory import MemoryStore

HERE = Settings(store=parse_address("unused.db"), session="s", project="/nowhere")


KINDS = "a store is a file, jsonl:FOLDER or postgresql://"


@pytest.mark.parametrize(
    ("scheme", "hint"), [("mysql", KINDS), ("file", KINDS), ("PostgreSQL", r"did you mean 'postgresql'\?")]
)
def test_an_unknown_kind_of_store_is_named_in_the_error(scheme: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"there are no {scheme}:// stores; {hint}"):
        open_store(replace(HERE, store=parse_address(f"{scheme}://host/plans")))


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.conninfo"])
def test_a_missing_driver_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """With the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("tildone.stores.postgres.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=re.escape(f"postgres:// stores need a driver: {install_extra('postgres')}")):
        open_store(replace(HERE, store=parse_address("postgres://host/plans")))


@pytest.mark.parametrize(
    ("tool", "arguments", "dialect"),
    [
        ("write_todos", {"mode": "replace", "todos": [{"text": "a"}]}, "indexed"),
        ("todo_write", {"ops": [{"op": "append", "phase": "A", "items": ["a"]}]}, "phased"),
        ("TodoWrite", {"summary": "x", "todos": [{"content": "a", "status": "pending"}]}, "declared"),
    ],
)
def test_a_persons_edits_follow_the_dialect_of_the_newest_call(
    tool: str, arguments: dict[str, object], dialect: str
) -> None:
    store = MemoryStore()
    open_session(HERE, dialect_named(dialect), store).call(tool, arguments)
    open_session(HERE, BY_HAND, store).change([Write(plan_of("b").phases)])

    assert dialect_of_session(HERE, store).name == dialect


def test_without_a_models_call_no_dialect_is_assumed() -> None:
    store = MemoryStore()
    open_session(HERE, BY_HAND, store).change([Write(plan_of("a").phases)], Actor.IMPORT)

    assert dialect_of_session(HERE, store) is BY_HAND
    assert dialect_of_session(HERE, MemoryStore()) is BY_HAND
    assert BY_HAND.rules == Rules()
    # A configured one takes precedence.
    assert dialect_of_session(replace(HERE, dialect="declared"), MemoryStore()).name == "declared"


def test_only_recent_events_are_searched_for_a_call() -> None:
    """The cost does not depend on the length of the history."""
    store = MemoryStore()
    session = open_session(HERE, dialect_named("indexed"), store)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    for count in range(MAX_EVENTS_SEARCHED):
        session.change([Write(plan_of(str(count)).phases)])

    assert dialect_of_session(HERE, store) is BY_HAND


@pytest.mark.parametrize("prefix", ["", "jsonl:"], ids=["sqlite", "pi"])
def test_a_store_is_opened_by_its_address(prefix: str, tmp_path: Path) -> None:
    """What is written through one is there in the next."""
    address = f"{prefix}{tmp_path / 'plans'}"
    store = store_at(address)
    session_in(store, "s", BY_HAND).change([Write(plan_of("a").phases)])
    store.close()

    reopened = store_at(address, timeout=5)

    assert [task.text for task in session_in(reopened, "s", BY_HAND).plan.tasks] == ["a"]


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
    """The signature is the list of annotated fields; one without a default is required."""
    assert Task("a", notes=("n",)) == Task(text="a", status=Status.PENDING, notes=("n",))
    with pytest.raises(TypeError, match="text"):
        Task()  # type: ignore[call-arg]  # what the test is about
    match Task("a", Status.ABANDONED):
        case Task(text, status):
            assert (text, status) == ("a", Status.ABANDONED)


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


def test_records_of_different_classes_are_never_equal_and_equal_ones_have_equal_hashes() -> None:
    """Unlike tuples."""
    assert One(1) == One(1)
    assert One(1) != One(2)
    assert One(1) != Other(1)  # type: ignore[comparison-overlap]  # what the test is about
    assert One(1) != (1,)  # type: ignore[comparison-overlap]  # what the test is about
    assert Nothing() == Nothing()
    assert len({One(1), One(1), Other(1), Nothing(), Nothing()}) == 3


def test_records_are_shown_as_they_are_made_and_copied_as_they_are() -> None:
    """A replaced field changes nothing else, and not the original."""
    task = Task("a", Status.COMPLETED, ("n",))

    assert repr(Phase("A", ())) == "Phase(name='A', tasks=())"
    assert repr(Nothing()) == "Nothing()"
    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  our own bytes
    assert copy.deepcopy(One(3)) == One(3)
    assert replace(task, text="b") == Task("b", Status.COMPLETED, ("n",))
    assert task.text == "a"


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1, "z": 1})]
)
def test_records_made_before_and_after_init_is_compiled_are_alike(args: tuple[int, ...], named: dict[str, int]) -> None:
    """Invalid arguments are refused in both cases."""

    @value
    class Point:
        """Two fields."""

        x: int
        y: int = 0

    with pytest.raises(TypeError, match="argument"):
        Point(*args, **named)
    made = [Point(1, y=number % 2) for number in range(20)]
    assert made == [Point(x=1, y=number % 2) for number in range(20)]
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


def test_ids_are_short_and_sort_by_time() -> None:
    clock = itertools.count(1_700_000_000_000, 7)
    new_id = id_maker(lambda: next(clock), os.urandom)

    ids = [new_id() for _ in range(100)]

    assert ids == sorted(set(ids))
    assert {len(each) for each in ids} == {ID_LENGTH}
    assert all(each.isalnum() and each == each.lower() for each in ids)


def test_ids_ascend_when_the_clock_does_not() -> None:
    """Random bits alone could descend within a millisecond, and clocks can be set back."""
    times = iter([1000, 1000, 1000, 999, 1, 1000])
    drawn = iter([b"\xff" * 8, b"\x00" * 8, b"\x80" * 8, b"\xff" * 8, b"\x00" * 8, b"\x01" * 8])
    new_id = id_maker(lambda: next(times), lambda _: next(drawn))

    ids = [new_id() for _ in range(6)]

    assert ids == sorted(set(ids))


def test_two_makers_never_create_the_same_id() -> None:
    one, other = id_maker(lambda: 5, os.urandom), id_maker(lambda: 5, os.urandom)

    assert {one() for _ in range(50)}.isdisjoint({other() for _ in range(50)})


VERBS = ("todo", "call", "log", "undo", "redo", "checkout", "export", "install", "uninstall", "status", "sessions")


TYPED = "tood:todo lgo:log staus:status statuss:status stabus:status STATUS:status sess:sessions udno:undo"
CORRECTIONS = dict(pair.split(":") for pair in f"{TYPED} instal:install inztxll:install next: x: :".split())
"""Swapped neighbours, missing, additional and wrong letters, and beginnings. `instal` is far from `uninstall`."""


def test_typing_errors_are_corrected() -> None:
    assert {typed: " ".join(closest(typed, VERBS)) for typed in CORRECTIONS} == CORRECTIONS


def test_at_most_three_words_are_suggested_and_none_for_a_very_long_one() -> None:
    """The time that it takes grows with its length."""
    assert closest("abcd", ("abce", "abcf", "abcg", "abch")) == ["abce", "abcf", "abcg"]
    assert closest("status" * 5000, ("status",) * 100) == []


HINTS = [
    ("tood", VERBS, "", "did you mean 'todo'?"),
    ("--sesion", ("--session", "--store"), "", "did you mean '--session'?"),
    ("do", ("done", "doctor"), "", "did you mean 'done' or 'doctor'?"),
    ("abcd", ("abce", "abcf", "abcg"), "", "did you mean 'abce', 'abcf' or 'abcg'?"),
    ("zzz", ("print", "json"), "", "known are print, json"),
    ("zzz", (*VERBS, "a", "b"), "", "see tildone --help"),
    ("zzz", ("print", "json"), "see the manual", "see the manual"),
]


def test_a_hint_names_the_closest_or_where_to_look() -> None:
    assert [nearest(typed, known, otherwise) for typed, known, otherwise, _ in HINTS] == [row[-1] for row in HINTS]


def test_a_long_value_is_shown_shortened() -> None:
    assert [shortened("9" * count) for count in (40, 5000)] == ["9" * 40, "9" * 40 + "…"]


PACKAGE = Path(tildone.__file__).parent
unix_only = pytest.mark.skipif(os.name == "nt", reason="the folders of an installation are laid out as on Unix")
SHOW = """
import sys
from tildone.base import distribution
print(distribution.method(), distribution.program(), distribution.install_extra("run"), sep="\\n")
print(distribution.install_package("boto3>=1"), distribution.upgrade(), sep="\\n")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a space and a letter that is not ASCII in its path."""
    folder = tmp_path / "my prøject"
    folder.mkdir()
    return folder


def make_venv(folder: Path) -> Path:
    """A virtual environment without pip that contains this package, and a command; returns its Python."""
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    shutil.copytree(PACKAGE, packages / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    python = folder / "bin" / "python"
    command(folder / "bin" / "tildone", python)
    return python


def command(path: Path, python: Path) -> None:
    """A command that shows the hints; like the one that an installer writes, it knows the path it was called by."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".source").write_text(f"import sys\nsys.argv = sys.argv[1:]\n{SHOW}")
    path.write_text(f'#!/bin/sh\nexec "{python}" "{path.with_suffix(".source")}" "$0"\n', encoding="utf-8")
    path.chmod(0o755)


def hints(*argv: str | Path, path: str = "/nowhere", **environ: str) -> list[str]:
    """The method, the program, an extra, a package, an upgrade."""
    words, known = [str(word) for word in argv], {"PATH": path, "HOME": "/nonexistent", **environ}
    return subprocess.run(words, env=known, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()


@unix_only
def test_a_virtual_environment_that_is_not_on_path(place: Path) -> None:
    """The command is named by its path, and packages are added with its own Python: by uv or pip, if it is there."""
    python = make_venv(place / ".venv")
    command(place / "bin" / "uv", python)
    own = place / ".venv" / "bin" / "tildone"

    *known, upgrade = hints(own)
    by_uv = hints(own, path=f"{place}/bin")[2]
    next((place / ".venv").glob("lib/python*/site-packages")).joinpath("pip").mkdir()
    by_pip = hints(own)[2]

    pip = f"'{python}' -m ensurepip && '{python}' -m pip install"
    extra, package = f"{pip} 'tildone[run]'", f"{pip} 'boto3>=1'"
    assert known == ["pip in a virtual environment", f"'{place}/.venv/bin/tildone'", extra, package]
    assert upgrade.endswith("-m pip install --upgrade tildone")
    assert by_uv == f"uv pip install --python '{python}' 'tildone[run]'"
    assert by_pip == f"'{python}' -m pip install 'tildone[run]'"


@unix_only
def test_a_copy_on_path_is_called_by_its_name(place: Path) -> None:
    """Also through a symbolic link. Another copy that comes first on PATH is not this one."""
    python = make_venv(place / ".venv")
    own = place / ".venv" / "bin" / "tildone"
    (place / "linked").mkdir()
    (place / "linked" / "tildone").symlink_to(own)
    command(place / "other" / "tildone", python)

    assert hints(own, path=str(own.parent))[1] == "tildone"
    assert hints(own, path=str(place / "linked"))[1] == "tildone"
    assert hints(own, path=f"{place / 'other'}:{own.parent}")[1] == f"'{own}'"
    # `python -m tildone` works wherever the package can be imported.
    assert hints(python, "-c", SHOW)[1] == f"'{own}'"
    own.unlink()
    assert hints(python, "-c", SHOW)[1] == f"'{python}' -m tildone"


def information(environment: Path) -> Path:
    """Make the folder of an environment that says what is installed there."""
    made = next(environment.glob("lib/python*/site-packages")) / "tildone-9.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Name: tildone\nVersion: 9\n")
    return made


@unix_only
def test_a_uv_tool_keeps_its_extras_its_origin_and_its_added_packages(place: Path) -> None:
    """`uv tool install` installs what the command names and nothing else."""
    python = make_venv(place / "tools" / "tildone")
    installed = information(place / "tools" / "tildone")
    (installed.parent / "mcp").mkdir()
    (place / "tools" / "tildone" / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "tildone" }, { name = "boto", extras = ["crt"], specifier = ">=1" }]\n'
    )
    how, _, *from_index = hints(python, "-c", SHOW)
    (installed / "direct_url.json").write_text(json.dumps({"url": "file:///w.whl"}))
    from_file = hints(python, "-c", SHOW)

    boto = "--with 'boto[crt]>=1'"
    assert how == "uv tool"
    assert from_index[:2] == [
        f"uv tool install {each}" for each in (f"'tildone[mcp,run]' {boto}", f"'tildone[mcp]' {boto} --with 'boto3>=1'")
    ]
    assert from_index[2:] == ["uv tool upgrade tildone"]
    assert from_file[2] == "uv tool install 'tildone[mcp,run] @ file:///w.whl' --with 'boto[crt]>=1'"


@unix_only
def test_a_copy_from_a_repository_names_the_commit(place: Path) -> None:
    python = make_venv(place / "archive-v0" / "Xy")
    (information(place / "archive-v0" / "Xy") / "direct_url.json").write_text(json.dumps(FROM_GIT))

    how, _, extra, _, upgrade = hints(python, "-c", SHOW)

    assert (how, extra) == ("uvx", "uvx --from 'tildone[run] @ git+https://example.org/t.git@abc' tildone")
    assert upgrade == f"uvx --refresh --from {GIT} tildone"


@unix_only
def test_pipx_and_its_temporary_environments(place: Path) -> None:
    installed = make_venv(place / "venvs" / "tildone")
    (place / "venvs" / "tildone" / "pipx_metadata.json").touch()
    temporary = make_venv(place / ".cache" / "3a26")
    (place / ".cache" / "3a26" / "pipx_metadata.json").touch()

    words = "pipx", "pipx inject tildone 'tildone[run]'", "pipx upgrade tildone"
    assert hints(installed, "-c", SHOW)[::2] == [*words]
    words = "pipx run", "pipx run --spec 'tildone[run]' tildone", "pipx run --no-cache tildone"
    assert hints(temporary, "-c", SHOW)[::2] == [*words]


@unix_only
def test_a_users_own_site_packages(place: Path) -> None:
    """The command is in the user's folder for programs, not beside Python."""
    python = Path(sys.base_prefix, "bin", "python3")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = place / "lib" / version / "site-packages"
    shutil.copytree(PACKAGE, packages / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "pip").mkdir()
    command(place / "bin" / "tildone", python)

    how, program, extra, *_ = hints(python, "-c", SHOW, PYTHONUSERBASE=str(place))

    assert (how, program) == ("pip --user", f"'{place}/bin/tildone'")
    assert extra.endswith("'tildone[run]'")
    assert " -m pip install --user " in extra


@unix_only
def test_a_source_checkout_is_set_up_again(place: Path) -> None:
    """An editable installation in an environment elsewhere is an ordinary one."""
    shutil.copytree(PACKAGE, place / "src" / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "do.py").touch()
    for inside in (place / ".venv", place.parent / "elsewhere"):
        venv.create(inside, symlinks=True)
        next(inside.glob("lib/python*/site-packages")).joinpath("t.pth").write_text(f"{place}/src\n", "utf-8")

    how, _, extra, package, _ = hints(place / ".venv" / "bin" / "python", "-c", SHOW)
    elsewhere = hints(place.parent / "elsewhere" / "bin" / "python", "-c", SHOW)

    assert (how, extra) == ("do.py in a source checkout", f"python3 '{place}/do.py' setup")
    assert package.endswith("pip install 'boto3>=1'")
    assert elsewhere[0] == "pip in a virtual environment"
    # Nothing is installed there under the name, which no index need have.
    assert elsewhere[2].endswith(f" -m pip install -e '{place}[run]'")
    assert elsewhere[4] == f"git -C '{place}' pull"
    assert anywhere(place.parent / "elsewhere" / "bin" / "python") == "in a checkout, by: uv tool install ."


def anywhere(python: Path) -> str:
    return hints(python, "-c", "from tildone.base import distribution; print(distribution.install_anywhere())")[0]


FROM_GIT = {"url": "https://example.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
GIT = "'tildone @ git+https://example.org/t.git'"


@unix_only
@pytest.mark.parametrize(
    ("direct", "extra", "upgrade", "others"),
    [
        (None, "'tildone[run]'", "--upgrade tildone", "by: uv tool install tildone"),
        (FROM_GIT, "'tildone[run]'", f"--upgrade {GIT}", f"by: uv tool install {GIT}"),
        (
            {"url": "file:///a%20b", "dir_info": {}},
            "'tildone[run]'",
            "pip install '/a b'",
            "in a checkout, by: uv tool install .",
        ),
    ],
)
def test_a_copy_is_upgraded_from_where_it_came(
    place: Path, direct: dict[str, object] | None, extra: str, upgrade: str, others: str
) -> None:
    """An extra needs no such place: pip finds that this copy is installed."""
    python = make_venv(place / ".venv")
    installed = information(place / ".venv")
    if direct is not None:
        (installed / "direct_url.json").write_text(json.dumps(direct))

    found = hints(python, "-c", SHOW)

    assert (found[2].endswith(extra), found[4].endswith(upgrade)) == (True, True)
    assert found[4].startswith("git -C '/a b' pull && ") == ("dir_info" in (direct or {}))
    assert anywhere(python) == others


@unix_only
@pytest.mark.parametrize("word", ["plain", "a b", "it's", "ø", "$HOME", ""])
def test_a_quoted_word_is_one_word_of_a_shell(word: str) -> None:
    script = f"printf '<%s>' {distribution.quoted(word)}"

    assert subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode() == f"<{word}>"
