"""The version of tildone, stated once: the build reads it from here, and reading it needs no package metadata."""

__version__ = "0.1.0"
