"""Whether and when an agent goes on."""
