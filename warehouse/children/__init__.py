"""Child processes, which do work that might kill them."""
