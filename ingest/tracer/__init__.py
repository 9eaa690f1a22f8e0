"""Writing ETDumps: the runtime's EventTracer in Python."""
