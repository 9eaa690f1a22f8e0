"""Plots of canned queries' answers: marks beside the rows, and drawings."""
