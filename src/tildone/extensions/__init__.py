"""What plugs into a host: a dialect's tools, and everything that is shown and done around them."""
