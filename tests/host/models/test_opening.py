"""Opening a model by name, and the errors if something is missing."""

import subprocess
import sys

import pytest

from tildone.base import UsageError
from tildone.base.distribution import install_extra
from tildone.run.providers import open_model


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("spec", "setting", "known_as"),
    [
        ("openai-chat:gpt-5", "OPENAI_API_KEY=none", ("openai-completions", "openai", "gpt-5")),
        ("openai-chat:qwen3:4b", "OPENAI_BASE_URL=http://127.0.0.1:9/v1", ("openai-completions", "openai", "qwen3:4b")),
        ("openai:gpt-5", "OPENAI_API_KEY=none", ("openai-responses", "openai", "gpt-5")),
        ("openai-responses:gpt-5", "OPENAI_API_KEY=none", ("openai-responses", "openai", "gpt-5")),
        ("anthropic:claude-opus-5", "ANTHROPIC_API_KEY=none", ("anthropic-messages", "anthropic", "claude-opus-5")),
        ("ollama:qwen3", "OLLAMA_BASE_URL=http://127.0.0.1:9/v1", ("openai-completions", "ollama", "qwen3")),
    ],
)
async def test_a_model_has_the_identity_that_pi_uses(
    spec: str, setting: str, known_as: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of one's own needs an address and no key."""
    monkeypatch.setenv(*setting.split("=", 1))

    model = open_model(spec)

    assert (model.api, model.provider, model.id) == known_as
    await model.close()


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai-chat:", ":gpt-5", "test"])
def test_a_name_without_its_provider_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="provider:model"):
        open_model(spec)


@pytest.mark.parametrize(
    ("spec", "meant"), [("antropic:x", "'anthropic'"), ("google-gla:x", "google,"), ("y:x", "known")]
)
def test_an_unknown_provider_is_refused_with_a_suggestion(spec: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"there is no provider .*{meant}"):
        open_model(spec)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("anthropic:claude-opus-5", "ANTHROPIC_API_KEY"),
        ("openai-chat:gpt-5", "OPENAI_API_KEY"),
        ("ollama:qwen3", "OLLAMA_BASE_URL"),
    ],
)
def test_a_missing_key_is_named(spec: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"set {name} in the environment$"):
        open_model(spec)


def test_a_missing_package_of_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cohere", None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.cohere", raising=False)

    with pytest.raises(UsageError, match=r"pip install (--python \S+ )?'pydantic-ai-slim\[cohere\]'$"):
        open_model("cohere:command")


def test_without_the_run_extra_the_error_names_it() -> None:
    """The environment has tildone without its optional dependencies."""
    script = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from tildone.base import UsageError\n"
        "from tildone.run.providers import open_model\n"
        "try: open_model('openai-chat:gpt-5')\n"
        "except UsageError as error: print(error)\n"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert said == f"talking to models takes more packages: {install_extra('run')}\n"


def test_the_model_interface_can_be_imported_without_the_library() -> None:
    """A host with its own model does not load the providers."""
    script = "import sys, tildone.run.providers, tildone.run.model; print('pydantic_ai' in sys.modules)"

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert said == "False\n"
