"""The board over HTTP: what is refused before anything else, headers, bodies, and the files of the pages."""
