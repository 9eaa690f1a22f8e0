"""Numeric differences between the values of two runs of a program."""
