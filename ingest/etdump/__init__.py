"""The reader of ETDumps: bytes to verified columns. Nothing in a file is trusted."""
