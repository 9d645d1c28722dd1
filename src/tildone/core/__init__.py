"""What is true of every plan: pure, standard library only."""
