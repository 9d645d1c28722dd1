"""Plans and changes to them: pure functions and data, standard library only."""
