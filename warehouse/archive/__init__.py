"""The archive: sealed segments with everything that a store was built from."""
