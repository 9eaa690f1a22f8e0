"""Aligns the operators of programs, as a diff aligns the lines of two texts. Pure."""
