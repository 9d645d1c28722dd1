"""The names of providers of models. One may have several names, such as `openai-chat` and `openai-responses`."""

from __future__ import annotations

FAMILIES = frozenset({"anthropic", "azure", "bedrock", "google", "openai"})
ALIASES = {"amazon-bedrock": "bedrock", "gemini": "google", "vertex": "google"}


def provider_family(name: str) -> str:
    """Return the name of a provider under which its limits and its keys are found."""
    name = name.lower()
    first = name.partition("-")[0]
    return ALIASES.get(name) or ALIASES.get(first) or (first if first in FAMILIES else name)
