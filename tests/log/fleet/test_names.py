"""Names that become paths, refs and arguments: nothing is made from any other text."""

import os

import pytest

from tildone.base.errors import UsageError
from tildone.plan.lists import RunSchedule, WorkerInfo
from tildone.plan.names import FileName, is_address, is_commit, is_ref, is_repository, provider_family, repository_key
from tildone.plan.runs import Lease, NewRun, Work, check_work, checked_run

NO_NAMES = [
    "",
    ".",
    "..",
    "../../x",
    "/abs/victim",
    "a/b",
    "-x",
    ".a",
    "a..b",
    "a.",
    "x.lock",
    "a b",
    "a\0",
    "ü",
    7,
    None,
]


def test_neither_a_file_nor_a_lease_nor_a_schedule_has_a_name_that_leads_elsewhere() -> None:
    for name in [*NO_NAMES, "x" * 65]:
        for make in (
            lambda: Lease(name, 0, "plan"),  # type: ignore[arg-type]  # noqa: B023  called at once
            lambda: RunSchedule(name, "0 3 * * *", "{}", 0),  # type: ignore[arg-type]  # noqa: B023  the same
            lambda: checked_run(NewRun(name, "plan")),  # type: ignore[arg-type]  # noqa: B023  the same
        ):
            with pytest.raises(UsageError, match="has 1 to 64 letters"):
                make()
    for name in [*NO_NAMES, "x" * 80]:
        with pytest.raises(UsageError, match="cannot be the name of a file"):
            FileName(name)  # type: ignore[arg-type]  # whatever a row has


def test_the_files_of_hands_are_named_after_their_run() -> None:
    assert (FileName.of("r1", 0), FileName.of("r" * 64, 63)) == ("r1", f"{'r' * 64}.hand63")


@pytest.mark.parametrize(
    "changes",
    [
        *({"hand": hand} for hand in (-1, 64, "1", None)),
        *({"session": session} for session in ("", "a\0b", "x" * 5000, 7)),
        *({name: number} for name in ("epoch", "attempt", "fails", "losses", "task") for number in (-1, 2**31)),
        *({name: number} for name in ("until", "not_before", "made", "since") for number in (-1, 2**62, "now")),
        *({name: ("a\nb",)} for name in ("questions", "refused")),
        *({name: "a\nb"} for name in ("owner", "boot")),
    ],
    ids=str,
)
def test_a_lease_has_no_value_that_nobody_has_written(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Lease(**{"run": "r1", "hand": 0, "session": "plan"} | changes)  # type: ignore[arg-type]  # as given


def test_what_git_and_agents_would_take_for_something_else_is_refused() -> None:
    """An option, a program to run, a place that depends on where the worker is."""
    for repo in ("ext::sh -c x", "ext://x", "-x", "-oProxyCommand=x@host:a", "../../x", "x", "fd::7", "a\0b", "/a\nb"):
        with pytest.raises(UsageError):
            check_work(Work(repo=repo))
    for ref in ("-x", "--upload-pack=x", "a..b", "a b", "a:b", "@", "@{-1}", "a/.b", "/a", "a/", "a.lock", "a~x", "~1"):
        with pytest.raises(UsageError, match="cannot be a branch"):
            check_work(Work(ref=ref))
    for work in (Work(model="--yolo"), Work(priority=2**31), Work(protocol=-1), Work(model=7)):  # type: ignore[arg-type]  # whatever a row has
        with pytest.raises(UsageError):
            check_work(work)


def test_a_path_has_no_control_characters() -> None:
    assert not is_repository("/a\0b")


def test_what_people_name_is_accepted() -> None:
    for repo in ("/a/b", "~/a", r"C:\a", r"\\host\a", "git@host:a", "ssh://git@host/a", "FILE:///a", "git://host/a"):
        check_work(Work(repo=repo))
    for ref in ("main", "v1.2", "feature/a-b_c", "HEAD~2", "main^", "1", "a@b", "0123abcd"):
        check_work(Work(ref=ref))


def test_a_commit_is_a_whole_id() -> None:
    assert is_commit("0a" * 20)
    assert is_commit("0a" * 32)
    assert not any(map(is_commit, ("", "abc", "-x", "Z" * 40, "0A" * 20)))
    assert is_ref("refs/tildone/r1/3")


def test_a_worker_and_the_last_run_of_a_schedule_are_checked() -> None:
    for changes in ({"id": "a\nb"}, {"pid": -1}, {"slots": 2**40}, {"seen": 2**62}, {"labels": (7,)}):
        with pytest.raises(UsageError):
            WorkerInfo(**{"id": "here/1/a"} | changes)
    with pytest.raises(UsageError):
        RunSchedule("nightly", "0 3 * * *", "{}", 0, last="../../x")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai", "openai"),
        ("openai-chat", "openai"),
        ("OpenAI-responses", "openai"),
        ("google-gla", "google"),
        ("gemini", "google"),
        ("vertex-ai", "google"),
        ("amazon-bedrock", "bedrock"),
        ("z-ai", "z-ai"),
        ("openrouter", "openrouter"),
        ("", ""),
    ],
)
def test_names_of_a_provider_are_one(name: str, family: str) -> None:
    assert provider_family(name) == family


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Example.org/a/b.git", "https://example.org/a/b/"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b"),
        ("file:///srv/a", "/srv/a/"),
        ("FILE://localhost/srv/a", "/srv/./a"),
    ],
)
def test_a_repository_has_one_key_however_it_is_spelled(one: str, other: str) -> None:
    keys = [repository_key(name, os.path.normpath) for name in (one, other, "https://example.org/a/c")]

    assert keys[0] == keys[1] != keys[2]


def test_an_address_differs_from_a_path() -> None:
    assert list(map(is_address, ["https://a/b", "git@a:b", "/a/b", "a/b", "C:\\a", ""])) == [True, True, *[False] * 4]
