"""SQL from anybody, answered from a snapshot in a process that can do nothing else."""
