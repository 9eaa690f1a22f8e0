"""Exact statistics of events."""
