"""The host on standard input and output, in pi's RPC protocol: one JSON object per line."""
