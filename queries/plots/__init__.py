"""Plots of canned queries' answers: marks for rows on a terminal, and drawings."""
