"""What is remembered of a session, and how it is written down."""
