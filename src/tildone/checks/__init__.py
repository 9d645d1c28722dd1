"""Checks are run here: the command, the digest of the files it depends on, and who has approved it."""
