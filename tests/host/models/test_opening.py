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


REFUSED = {
    **dict.fromkeys(["", "gpt-5", "openai-chat:", ":gpt-5", "test"], "provider:model"),
    "antropic:x": "there is no provider .*'anthropic'",
    "google-gla:x": "there is no provider .*google,",
    "y:x": "there is no provider .*known",
    "anthropic:claude-opus-5": "set ANTHROPIC_API_KEY in the environment$",
    "openai-chat:gpt-5": "set OPENAI_API_KEY in the environment$",
    "ollama:qwen3": "set OLLAMA_BASE_URL in the environment$",
}


@pytest.mark.parametrize("spec", REFUSED)
def test_a_model_that_cannot_be_opened_is_refused_with_what_is_missing(spec: str) -> None:
    """The provider, a known one, or its key."""
    with pytest.raises(UsageError, match=REFUSED[spec]):
        open_model(spec)


def test_a_missing_package_of_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cohere", None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.cohere", raising=False)

    with pytest.raises(UsageError, match=r"pip install (--python \S+ )?'pydantic-ai-slim\[cohere\]'$"):
        open_model("cohere:command")


WITHOUT_LIBRARY = """
import sys, tildone.run.model
from tildone.base import UsageError
from tildone.run.providers import open_model
print('pydantic_ai' in sys.modules)
sys.modules['pydantic_ai'] = None
try: open_model('openai-chat:gpt-5')
except UsageError as error: print(error)
"""


def test_the_interface_is_imported_without_the_library_and_without_the_run_extra_the_error_names_it() -> None:
    """A host with its own model does not load the providers."""
    said = subprocess.run([sys.executable, "-c", WITHOUT_LIBRARY], capture_output=True, text=True, check=True).stdout

    assert said == f"False\ntalking to models takes more packages: {install_extra('run')}\n"
