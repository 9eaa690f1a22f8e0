"""The manifest of a dump: its device, build, model, clock and counters."""
