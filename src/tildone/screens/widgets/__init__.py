"""What the terminal screens share. They need the extra `tui` (Textual)."""
