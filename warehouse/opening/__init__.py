"""A store opened to be read or written, its snapshots, and how it is doing."""
