"""Output of commands: tables, notes, progress."""
