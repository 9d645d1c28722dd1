"""The fixtures of the command line's tests: a person in a project of their own, with no plans yet."""

from tests.cli.conftest import person as person  # noqa: PLC0414  the alias marks a re-export
