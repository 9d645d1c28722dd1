"""What HTTP servers of tildone share: host names and origins, bound sockets, limits of connections, and signals."""
