"""What a tool is, whoever's tool it is: pure, standard library only."""
