"""Links, logins and tokens over time, in real files: what ends when, and what two processes do at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tildone.base.errors import TildoneError
from tildone.screens.board.access import (
    LIFETIME_SECONDS,
    VALID_MS,
    BoardSecrets,
    Logins,
    OneTimeLinks,
    People,
    PrivateJson,
    Redeemed,
)

NOW = 1_794_735_819_441


def test_a_link_is_valid_for_five_minutes(tmp_path: Path) -> None:
    links = OneTimeLinks(str(tmp_path))
    early, late = links.create(NOW), links.create(NOW)

    assert links.redeem(early, NOW + VALID_MS - 1) is Redeemed.VALID
    assert links.redeem(late, NOW + VALID_MS) is Redeemed.EXPIRED
    assert VALID_MS == 5 * 60 * 1000


def test_a_used_link_is_recognized_by_another_process(tmp_path: Path) -> None:
    token = OneTimeLinks(str(tmp_path)).create(NOW)

    assert OneTimeLinks(str(tmp_path)).redeem(token, NOW) is Redeemed.VALID
    assert OneTimeLinks(str(tmp_path)).redeem(token, NOW + VALID_MS) is Redeemed.USED


def test_of_browsers_that_present_a_link_at_once_one_is_let_in(tmp_path: Path) -> None:
    token = OneTimeLinks(str(tmp_path)).create(NOW)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: OneTimeLinks(str(tmp_path)).redeem(token, NOW), range(8)))

    assert sorted(result.value for result in results) == ["used"] * 7 + ["valid"]


def test_old_links_are_forgotten(tmp_path: Path) -> None:
    links = OneTimeLinks(str(tmp_path))
    old = links.create(NOW)
    links.create(NOW + 25 * 3_600_000)

    assert links.redeem(old, NOW) is Redeemed.UNKNOWN


def test_a_login_ends_after_thirty_days(tmp_path: Path) -> None:
    logins = Logins(BoardSecrets(str(tmp_path)), People(str(tmp_path)))
    login = logins.of_owner(NOW)
    last = NOW // 1000 * 1000 + LIFETIME_SECONDS * 1000

    assert logins.visitor(login.cookie, login.key, "", last) is not None
    assert logins.visitor(login.cookie, login.key, "", last + 1000) is None
    assert LIFETIME_SECONDS == 30 * 24 * 3600


def test_the_key_of_one_login_does_not_fit_another(tmp_path: Path) -> None:
    logins = Logins(BoardSecrets(str(tmp_path)), People(str(tmp_path)))
    one, other = logins.of_owner(NOW), logins.of_owner(NOW)

    assert logins.visitor(one.cookie, other.key, "", NOW) is None
    assert logins.visitor(one.cookie, one.cookie.rpartition(".")[2], "", NOW) is None


def test_two_processes_that_start_at_once_agree_on_the_secrets(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda _: BoardSecrets(str(tmp_path)).digest("x"), range(8)))

    assert len(digests) == 1


def test_digests_of_names_survive_a_new_key(tmp_path: Path) -> None:
    """Addresses of sessions stay when everybody has to sign in again."""
    secrets = BoardSecrets(str(tmp_path))
    digest, signature = secrets.digest("x"), secrets.sign("x")
    BoardSecrets(str(tmp_path)).renew()

    assert secrets.digest("x") == digest
    assert secrets.sign("x") != signature


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(TildoneError, match=r"x\.json is damaged; remove it"):
        PrivateJson(str(tmp_path), "x.json").read()
