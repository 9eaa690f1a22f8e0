"""The reader of ETDumps: bytes to verified columns. No byte of a file is trusted."""
