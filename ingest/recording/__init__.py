"""Running a program under the real runtime's tracer."""
