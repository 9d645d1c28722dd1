"""Who is let in: secrets in a private file, one-time links, logins, and the tokens of people."""
