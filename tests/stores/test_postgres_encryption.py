"""PostgreSQL without a server: addresses, texts in SQL; connections to other machines are encrypted unless asked."""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.contract import WILD
from tildone.base import StoreError, UsageError
from tildone.stores.postgres.address import address_of, missing_sslmode
from tildone.stores.postgres.rows import MAX_KEY_BYTES, from_sql, key, to_sql
from tildone.stores.postgres.store import PostgresStore

SSL_REQUEST, GSS_REQUEST = bytes.fromhex("0000000804d2162f"), bytes.fromhex("0000000804d21630")
SIOCGIFADDR = 0x8915
PASSWORD = b"secret"
PASSWORD_REQUEST = b"R\0\0\0\x08\0\0\0\x03"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person without certificates and services."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_only_a_connection_to_this_machine_may_be_in_clear_text() -> None:
    here = [
        "/plans",
        "localhost/plans",
        "127.0.0.1/plans",
        "127.9.9.9/plans",
        "[::1]/plans",
        "/plans?host=/run/postgresql",
    ]
    here += ["db.example/plans?hostaddr=127.0.0.1"]
    far = ["db.example/plans", "localhost.evil.example/plans", "127.0.0.1.evil.example/plans", "192.0.2.1/plans"]
    far += ["localhost,db.example/plans", "localhost/plans?hostaddr=192.0.2.1"]

    encrypted = [url for url in here + far if "sslmode=require" in address_of(f"postgresql://{url}", 1).conninfo]

    assert encrypted == far


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
def test_what_the_person_asks_for_is_done(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"sslmode={mode}" in address_of(f"postgresql://db.example/plans?sslmode={mode}", 1).conninfo

    monkeypatch.setenv("PGSSLMODE", mode)
    assert "sslmode" not in address_of("postgresql://db.example/plans", 1).conninfo


def test_a_server_has_to_prove_who_it_is_if_there_is_a_root_certificate(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing_sslmode({"host": "db.example"}) == "require"
    assert missing_sslmode({"host": "db.example", "sslrootcert": "system"}) == "verify-full"

    monkeypatch.setenv("PGSSLROOTCERT", "/some/root.crt")
    assert missing_sslmode({"host": "db.example"}) == "verify-full"

    monkeypatch.delenv("PGSSLROOTCERT")
    (home / ".postgresql").mkdir()
    (home / ".postgresql" / "root.crt").touch()
    assert missing_sslmode({"host": "db.example"}) == "verify-full"


def test_the_host_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    assert missing_sslmode({}) == "require"
    assert missing_sslmode({"host": "/run/postgresql"}) == ""

    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    assert missing_sslmode({}) == ""


def test_a_service_names_the_server_and_the_mode(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".pg_service.conf").write_text(
        "[near]\nhost=/run/postgresql\n[far]\nhost=db.example\n[asked]\nhost=db.example\nsslmode=disable\n"
    )

    assert [missing_sslmode({"service": name}) for name in ("near", "far", "asked")] == ["", "require", ""]
    monkeypatch.setenv("PGSERVICE", "far")
    assert missing_sslmode({}) == "require"
    monkeypatch.setenv("PGHOST", "/run/postgresql")
    assert missing_sslmode({}) == "require"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"no section\n"])
def test_a_service_file_that_cannot_be_read_is_left_to_libpq(home: Path, content: bytes) -> None:
    (home / ".pg_service.conf").write_bytes(content)

    assert missing_sslmode({"service": "far", "host": "db.example"}) == "require"


def own_addresses() -> list[str]:
    """The addresses of this machine that are not loopback addresses: traffic to them does not leave it."""
    if sys.platform != "linux":
        return []
    import fcntl  # noqa: PLC0415  Windows has none

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                request = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()))
                found.append(socket.inet_ntoa(request[20:24]))
    return sorted(address for address in found if not address.startswith("127."))


@contextmanager
def clear_text_server(host: str) -> Iterator[tuple[int, list[bytes]]]:
    """A server without TLS that asks for a password; yields its port and all that it receives."""
    received: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):
                while data := connection.recv(1024):
                    received.append(data)
                    if PASSWORD in data:
                        break
                    connection.sendall(b"N" if data in {SSL_REQUEST, GSS_REQUEST} else PASSWORD_REQUEST)

    with socket.create_server((host, 0)) as listener:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], received
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.skipif(not own_addresses(), reason="this machine has loopback addresses only")
def test_a_server_on_another_address_without_encryption_gets_nothing() -> None:
    """Neither the password nor the names; the error says what to do."""
    host = own_addresses()[0]
    with clear_text_server(host) as (port, received), pytest.raises(StoreError) as told:
        PostgresStore(f"postgresql://me:secret@{host}:{port}/plans", timeout=5)

    assert f"plans at {host}:{port} offers no encryption, so no password and no plan was sent to it" in str(told.value)
    assert "add sslmode=disable to the address or set PGSSLMODE=disable" in str(told.value)
    assert {*received} <= {SSL_REQUEST, GSS_REQUEST}


def test_a_server_without_encryption_gets_nothing_if_encryption_is_required() -> None:
    with clear_text_server("127.0.0.1") as (port, received), pytest.raises(StoreError, match="offers no encryption"):
        PostgresStore(f"postgresql://me:secret@127.0.0.1:{port}/plans?sslmode=require", timeout=5)

    assert {*received} <= {SSL_REQUEST, GSS_REQUEST}


def test_a_person_may_ask_for_clear_text() -> None:
    host = next(iter(own_addresses()), "127.0.0.1")
    with clear_text_server(host) as (port, received), pytest.raises(StoreError):
        PostgresStore(f"postgresql://me:secret@{host}:{port}/plans?sslmode=disable&connect_timeout=2", timeout=0.1)

    assert any(PASSWORD in data for data in received)


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgresql://me:secret@db.example:6543/plans", "plans at db.example:6543"),
        ("postgres://me:secret@db.example/plans?sslmode=require", "plans at db.example"),
        ("postgresql://me:secret@/plans?host=/run/postgresql", "plans at /run/postgresql"),
        ("postgresql://me:secret@one,other:6543/plans", "plans at one,other:,6543"),
        ("postgresql://me:secret@", "me at the local server"),
        ("postgresql://", "the user's own database at the local server"),
        ("postgresql://?service=team", "service team"),
    ],
)
def test_messages_name_the_database_without_the_password(url: str, where: str) -> None:
    assert address_of(url, 1).where == where


@pytest.mark.parametrize(
    "rest",
    [
        *(
            "sec@ret@db.example/plans",
            "sec/ret@db.example/plans",
            "12/sec@db.example/plans",
            "sec%ret@db.example/plans",
        ),
        *("secret@db.example/plans?nonsense=1", "secret@db.example:port/plans", "secret@[db.example/plans"),
        "secret\ud800@db.example/plans",
    ],
)
def test_an_invalid_url_is_an_error_without_the_password(rest: str) -> None:
    """Nor a part of it: an unescaped character of the password is a common mistake."""
    form = "the store's address is not a valid URL; its form is postgresql://USER:PASS"
    with pytest.raises(UsageError, match=form) as told:
        PostgresStore(f"postgresql://me:{rest}")

    assert "sec" not in str(told.value)
    assert told.value.__cause__ is None


TRICKY = (*WILD, "\\", "\\0", "\\\0", "\\ud800", "\ud83d\ude00", "😀", "\\#", "\\\\#", "\\u005c", "\\" * 999)

texts = st.text(
    st.characters(codec=None, exclude_categories=()) | st.sampled_from("\\\0\ud83d\ude000u#")
) | st.sampled_from(TRICKY)
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 2000))


@given(texts)
def test_every_text_survives_a_round_trip(text: str) -> None:
    written = to_sql(text)

    assert from_sql(written) == text
    assert "\0" not in written
    assert written.encode().decode() == written


@given(long_texts, long_texts)
def test_keys_are_unique_and_fit_an_index(one: str, other: str) -> None:
    assert (key(one) == key(other)) is (one == other)
    assert len(key(one).encode()) <= MAX_KEY_BYTES


@pytest.mark.parametrize("text", ["", "/home/ünï/cödé 😀", "line\nbreak", "'; DROP TABLE --", "x" * 250])
def test_most_texts_are_stored_unchanged(text: str) -> None:
    assert to_sql(text) == key(text) == text
