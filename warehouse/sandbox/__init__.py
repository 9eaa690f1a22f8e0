"""SQL from anybody: answered out of a snapshot, in a process that can do nothing else."""
