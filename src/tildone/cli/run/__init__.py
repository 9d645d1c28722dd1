"""The parts of `tildone run`: its arguments, its setup and its modes."""

MODES = ("terminal", "print", "json", "rpc")
