"""The pictures of README and docs, made from real runs. `python -m tests.pictures` makes them again."""
