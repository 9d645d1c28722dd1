"""A provider has one limit, whichever of its names a model or a person uses."""

import pytest

from tildone.log.fleet.names import provider_family


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
