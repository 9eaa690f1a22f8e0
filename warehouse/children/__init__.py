"""Child processes, for work that might crash them."""
