"""Untrusted SQL, run on a snapshot in a process that can do nothing else."""
