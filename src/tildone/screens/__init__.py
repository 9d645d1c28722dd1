"""Screens: `watch` and the full screen of `run` (extra `tui`), and the board in a browser (extra `web`)."""
