"""Secrets: neither passed to commands nor shown to models."""

import os
import time
import timeit
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.host.tools.tool_bench import ToolBench
from tildone.base.secrets import MAX_HELD_BYTES, REDACTED, Redactor, StreamRedactor, command_environment, is_secret
from tildone.run.providers.provider_model import KEY_VARIABLES
from tildone.run.tools.permissions import PermissionPolicy

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
PRIVATE_KEY = (
    f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{LETTERS}\n{LETTERS}=\n-----END RSA PRIVATE KEY-----"
)
KEYS = {
    "OpenAI": f"sk-{LETTERS}",
    "OpenAI project": f"sk-proj-{LETTERS}_x-y",
    "Anthropic": f"sk-ant-api03-{LETTERS}-AA",
    "GitHub": f"ghp_{LETTERS}",
    "GitHub app": f"ghs_{LETTERS}",
    "GitHub fine-grained": f"github_pat_{LETTERS}_{LETTERS}",
    "GitLab": f"glpat-{LETTERS[:20]}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "Google": f"AIza{LETTERS[:35]}",
    "Slack": "xoxb-1234567890-abcdefghij",
    "Hugging Face": f"hf_{LETTERS[:34]}",
    "npm": f"npm_{LETTERS[:36]}",
    "JWT": f"eyJ{LETTERS}.{LETTERS}.{LETTERS}",
    "private key": PRIVATE_KEY,
    "OpenSSH": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{LETTERS}\n-----END OPENSSH PRIVATE KEY-----",
}
VALUE = "correct horse battery stäple"
ENVIRON = {"MY_PASSWORD": VALUE, "SHORT_TOKEN": "none", "AWS_REGION": "eu-central-1", "HOME": "/home/ada/project"}


SECRETS = """
AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE PGPASSWORD MYSQL_PWD GH_TOKEN NPM_CONFIG__AUTH SSH_KEY X_APIKEY
GITHUBTOKEN SMTP_PASS my_secret_thing DB_PASSWORD_FILE SSH_PASSPHRASE NPM_TOKEN GOOGLE_APPLICATION_CREDENTIALS
"""
SECRET_NAMES = [*sorted(set(KEY_VARIABLES.values())), *SECRETS.split()]


def test_a_command_does_not_get_a_secret_unless_it_is_passed() -> None:
    path = {"PATH": "/bin"}
    others = "PATH PWD OLDPWD TOKENIZERS_PARALLELISM KEYBOARD SSH_AUTH_SOCK LANG AUTHOR TILDONE_MAX_TOKENS"

    assert [name for name in others.split() if is_secret(name, "x")] == []
    assert [name for name in SECRET_NAMES if command_environment(path | {name: "x"}) != path] == []
    assert [name for name in SECRET_NAMES if name not in command_environment({name: "x"}, [name])] == []


def test_a_url_with_a_password_is_a_secret_unless_it_is_a_proxy() -> None:
    urls = {"DATABASE_URL": "postgresql://app:s3cret@db/app", "REDIS": "rediss://:pw@cache:6379"}
    others = {
        "HTTPS_PROXY": "http://me:password@proxy",
        "HOMEPAGE": "https://example.org:8080/a@b",
        "MAIL": "a:b@c.org",
    }

    assert command_environment(urls | others) == others
    assert command_environment(urls | others, ["REDIS"]) == others | {"REDIS": urls["REDIS"]}


def test_what_looks_like_a_key_is_redacted() -> None:
    shown = {name: Redactor({}).text(f'key={key}, and more "{key}"') for name, key in KEYS.items()}

    assert shown == dict.fromkeys(KEYS, f'key={REDACTED}, and more "{REDACTED}"')
    assert Redactor({}).text(f"Authorization: Bearer {LETTERS}") == f"Authorization: Bearer {REDACTED}"


def test_values_of_secret_variables_are_redacted() -> None:
    redactor = Redactor(ENVIRON)

    assert redactor.text(f"It is {VALUE}!") == f"It is {REDACTED}!"
    assert redactor.data(f"It is {VALUE}!".encode()) == f"It is {REDACTED}!".encode()
    assert redactor.text("none eu-central-1 /home/ada/project") == "none eu-central-1 /home/ada/project"


URLS = {
    "postgresql://app:p%40ssw0rd%21@db/app": f"postgresql://app:{REDACTED}@db/app",
    "it is p@ssw0rd! here": f"it is {REDACTED} here",
    "mysql-test:mysql-test@db": f"mysql-test:{REDACTED}@db",
    "the database mysql-test": "the database mysql-test",
    "'amqp://guest:x@[::1]:5672'": f"'amqp://guest:{REDACTED}@[::1]:5672'",
    (ordinary := "https://example.org:8080/a@b http://a@b git@host:path"): ordinary,
}


def test_passwords_of_urls_are_redacted() -> None:
    """Where they stand in a URL, whatever it is; those of the environment anywhere, unless they are ordinary words."""
    databases = {"DATABASE_URL": "postgresql://app:p%40ssw0rd%21@db/app", "TEST_DB": "mysql://mysql-test:mysql-test@db"}
    redactor = Redactor(databases)

    assert {text: redactor.text(text) for text in URLS} == URLS
    assert {text: redactor.data(text.encode()).decode() for text in URLS} == URLS


def test_without_forms_only_the_values_of_the_environment_are_redacted() -> None:
    redactor = Redactor({"MY_PASSWORD": VALUE, "DB": "x://u:pw@h"}, forms=False)
    text = f"{KEYS['GitHub']} y://u:other@h Bearer {LETTERS}"

    assert redactor.text(f"{text} {VALUE} u:pw@h") == f"{text} {REDACTED} u:{REDACTED}@h"
    assert Redactor({}, forms=False).text(text) == text


ORDINARY = [
    "a task-oriented-but-very-long-word disk-usage-of-the-machine",
    "The bearer of this letter",
    "AKIAIOSFODNN7EXAMPLEandmore",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "0123456789abcdef0123456789abcdef01234567",
    "ünïcode ✓",
]


def test_ordinary_text_stays() -> None:
    redactor = Redactor(ENVIRON)

    assert [redactor.text(text) for text in ORDINARY] == ORDINARY
    assert [redactor.data(text.encode()).decode() for text in ORDINARY] == ORDINARY


@given(
    st.lists(st.sampled_from([*KEYS.values(), VALUE, " ", "\n", "word ", "-----BEGIN x\n", "\r"]), max_size=8),
    st.lists(st.integers(1, 60), min_size=1),
)
@example([PRIVATE_KEY, PRIVATE_KEY], [1])
def test_a_stream_is_redacted_wherever_it_is_cut(pieces: list[str], sizes: list[int]) -> None:
    """A preview never shows a part of a secret."""
    redactor, text = Redactor(ENVIRON), "".join(f"{piece} " for piece in pieces)
    stream, data, out, at = StreamRedactor(redactor), text.encode(), b"", 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        out += stream.feed(data[at : at + size])
        at += size
        assert redactor.data(data).startswith(out)
        assert LETTERS[:12].encode() not in stream.preview()

    assert out + stream.finish() == redactor.data(data)


@pytest.mark.parametrize("fill", ["x", "x ", f"{KEYS['AWS']}/"])
def test_a_long_line_is_not_held_back_for_ever(fill: str) -> None:
    """And where it is cut, no key is cut."""
    key = KEYS["Anthropic"]
    data = (fill * (MAX_HELD_BYTES // len(fill)) + f" {key} ").encode() * 3
    stream, out = StreamRedactor(Redactor({})), b""
    for at in range(0, len(data), 997):
        out += stream.feed(data[at : at + 997])
        assert len(out) > 0 or at < MAX_HELD_BYTES
    out += stream.finish()

    assert out == Redactor({}).data(data)
    assert LETTERS.encode() not in out


BEGINNINGS = ["a://", "a://b:", "x:y@", "eyJ", "sk-", "-----BEGIN PRIVATE KEY-----", "Bearer ", "a.", "AKIA", "ghp_a"]
BEGINNINGS += ["-"]


def test_the_time_is_proportional_to_the_length() -> None:
    """Twice as long a text takes about twice as long; with a quadratic step it would take four times as long."""
    redactor = Redactor(ENVIRON)

    def seconds(piece: str, size: int) -> float:
        text = piece * (size // len(piece))
        return timeit.timeit(lambda: redactor.text(text), number=1, timer=time.process_time)

    def is_proportional(piece: str) -> bool:
        return seconds(piece, 400_000) <= 3.2 * seconds(piece, 200_000) + 0.005

    # Other programs disturb a measurement, so one of several is enough: a quadratic step fails in all of them.
    assert [piece for piece in BEGINNINGS if not any(is_proportional(piece) for _ in range(10))] == []


async def test_a_command_sees_and_shows_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "own-key-of-this-test")
    monkeypatch.setenv("PGPASSWORD", "own-password-of-this-test")
    line = f'echo "[$ANTHROPIC_API_KEY] [$PGPASSWORD]"; echo own-key-of-this-test; printf {KEYS["GitHub"]}'

    held = await ToolBench(folder).bash(line)
    passed = await ToolBench(folder, PermissionPolicy(allow=("*",), pass_env=("PGPASSWORD",))).bash(line)

    assert held.text == f"[] []\n{REDACTED}\n{REDACTED}"
    assert passed.text == f"[] [{REDACTED}]\n{REDACTED}\n{REDACTED}"


async def test_the_password_of_a_database_reaches_no_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://app:correct-horse@db/app"
    monkeypatch.setenv("DATABASE_URL", url)
    (folder / ".env").write_text(f"DATABASE_URL={url}\nKEY={KEYS['GitHub']}\n")

    printed = await ToolBench(folder).bash('echo "[$DATABASE_URL]"; cat .env; grep -o "correct.*@" .env')
    read = await ToolBench(folder).call("read", path=".env")

    shown = f"DATABASE_URL=postgresql://app:{REDACTED}@db/app"
    assert printed.text == f"[]\n{shown}\nKEY={REDACTED}\n{REDACTED}@"
    assert read.text == f"{shown}\nKEY={KEYS['GitHub']}\n"


async def test_the_file_with_all_of_an_output_is_redacted(folder: Path) -> None:
    result = await ToolBench(folder).bash(f"for i in $(seq 3000); do echo $i {KEYS['OpenAI']}; done")

    path = result.details["fullOutputPath"]
    assert path is not None
    with open(path, encoding="utf-8") as file:  # noqa: ASYNC230  nothing else runs
        assert file.read() == "".join(f"{i} {REDACTED}\n" for i in range(1, 3001))
    assert LETTERS not in result.text
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert "all of it is in" in result.text
