"""A store opened for reading or writing, its snapshots, and its status."""
