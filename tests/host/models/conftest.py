"""The model library, which is imported before the first test and then left out of garbage collection."""

import gc
import importlib

import pytest


@pytest.fixture(scope="package", autouse=True)
def _model_library() -> None:
    """Collecting garbage after each test would otherwise visit all of the library."""
    for provider in ("openai", "anthropic"):
        importlib.import_module(f"pydantic_ai.models.{provider}")
    gc.collect()
    gc.freeze()
