"""The host on standard input and output, in pi's RPC records: one JSON object a line."""
