"""Processes of our own that work for this one, and may die of what they are given."""
